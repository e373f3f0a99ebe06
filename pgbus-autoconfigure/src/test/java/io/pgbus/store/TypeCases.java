package io.pgbus.store;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Types of PostgreSQL, and of a database's own, with values at their edges.
 */
public final class TypeCases {

	/** Makes the types of the database's own. */
	public static final String TYPES = """
			create schema one;
			create schema two;
			create type one.mood as enum ('happy', 'so so', '''');
			create type two.mood as enum ('bleak', 'HAPPY');
			create domain one.positive as integer check (value > 0);
			create domain one.document as json;
			create domain one.documents as json[];
			create domain one.nested as one.document;
			create domain one.feeling as one.mood;
			create domain one.moods as one.mood[];
			create domain one.code as char(5);
			create type one.address as (street text, number one.positive, since timestamptz, extra json,
				mood one.mood, numbers int[]);
			create type one.home as ("the address" one.address, "Name" text);
			create type one."Odd ""Type\""" as enum ('a');
			create type one.span as range (subtype = text, collation = "C");
			""";

	private static final String CASES = """
			smallint                    | '-32768', '0', '32767'
			integer                     | '-2147483648', '2147483647'
			bigint                      | '-9223372036854775808', '9223372036854775807'
			oid                         | '0', '4294967295'
			real                        | '0', '-0', '1.1', '3.4028235e38', '1e-45', 'NaN', 'Infinity', '-Infinity'
			double precision            | '0.1', '-0', '1.7976931348623157e308', '5e-324', 'NaN', 'Infinity', '-Infinity'
			numeric                     | '0', '1.50', '-1e-30', '123456789012345678901234567890.1234567890', 'NaN', 'Infinity', '-Infinity'
			numeric(10,2)               | '1.005', '-99999999.99', 'NaN'
			boolean                     | 'true', 'false'
			text                        | '', ' ', 'a', 'null', '{a}', E'line\\nbreak\\ttab\\\\ back "quote" \\'', 'ünïcödé 漢字 😀', E'\\x01\\x7f'
			varchar(5)                  | '', 'ab', 'abcde'
			char(5)                     | '', 'ab', 'abcde', '  a'
			char                        | 'x', ' '
			"char"                      | 'x', ''
			name                        | 'some_name'
			bytea                       | '', '\\x', '\\x00ff10', 'abc'
			date                        | '2024-02-29', '0044-03-15 BC', '4713-01-01 BC', '5874897-12-31', 'infinity', '-infinity'
			timestamp                   | '2024-02-29 12:34:56.789012', '0044-03-15 01:02:03 BC', '294276-12-31 23:59:59.999999', 'infinity', '-infinity'
			timestamp(0)                | '2024-02-29 12:34:56.789'
			timestamptz                 | '2024-02-29 12:34:56.789012+05:30', '0044-03-15 01:02:03+00 BC', '294276-12-31 23:59:59+00', 'infinity', '-infinity'
			time                        | '00:00', '24:00', '12:34:56.789012'
			timetz                      | '12:34:56.789012+05:30', '23:59:59-15:59'
			interval                    | '0', '1 year 2 mons -3 days 04:05:06.789', '-178000000 years', 'P1Y2M3DT4H5M6S', '-1 sec'
			interval day to second(2)   | '3 days 04:05:06.789'
			money                       | '0', '-12.34', '92233720368547758.07'
			uuid                        | '00000000-0000-0000-0000-000000000000', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'
			inet                        | '192.168.0.1', '192.168.0.1/24', '::1', '2001:db8::/32'
			cidr                        | '192.168.0.0/24', '::/0', '10.0.0.1/32'
			macaddr                     | '08:00:2b:01:02:03'
			macaddr8                    | '08:00:2b:01:02:03:04:05'
			bit(8)                      | '10101010', '00000000'
			bit                         | '1'
			varbit                      | '', '101', '1010101010101'
			json                        | '{"b": 1, "a": [1.50, null, "x"], "b": 2}', 'null', '"text"', '1.50', '[]', ' {"x" : {} } '
			jsonb                       | '{"b": 1, "a": [1.50, null, "x"]}', 'null', '"text"', '1e5', '[]'
			jsonpath                    | '$.a[*] ? (@ > 1)'
			xml                         | '<a b="c">text &amp; more</a>', 'no element', ''
			tsvector                    | 'a:1A fat:2B,4C cat:5D', ''
			tsquery                     | 'fat & !cat'
			pg_lsn                      | '0/0', '16/B374D848'
			xid8                        | '18446744073709551615'
			tid                         | '(0,1)'
			point                       | '(1.5,-2)', '(NaN,Infinity)'
			line                        | '{1,2,3}'
			box                         | '(1,1),(0,0)'
			path                        | '[(0,0),(1,1)]', '((0,0),(1,1))'
			polygon                     | '((0,0),(1,1),(1,0))'
			circle                      | '<(0,0),1>'
			int4range                   | 'empty', '[1,5)', '(,)', '[1,)'
			numrange                    | '[1.50,2.50]', '(,0]'
			tstzrange                   | '["2024-01-01 00:00:00+00",infinity)', '(,"2024-01-01 00:00:00+05"]'
			daterange                   | '[2024-01-01,2024-02-01)', '[-infinity,infinity]'
			int4multirange              | '{}', '{[1,5),[7,9)}'
			datemultirange              | '{[2024-01-01,2024-02-01)}'
			regclass                    | 'pg_class', 'pgbus.event'
			regtype                     | 'integer', 'timestamp with time zone'
			integer[]                   | '{}', '{1,NULL,3}', '{{1,2},{3,4}}', '[0:1]={5,6}'
			text[]                      | '{}', '{"",NULL,"NULL","a,b","{}","\\"","\\\\"}', '{{a},{b}}'
			numeric(4,1)[]              | '{1.5,NaN}'
			timestamptz[]               | '{"2024-02-29 12:34:56+05:30",infinity}'
			json[]                      | ARRAY['{"b":1,"b":2}', 'null', '"x"']::json[]
			jsonb[]                     | ARRAY['{"b":1}', 'null', '[1]']::jsonb[]
			bytea[]                     | ARRAY['\\x00ff'::bytea]
			boolean[]                   | '{t,f,NULL}'
			char(3)[]                   | '{a,bcd}'
			one.mood                    | 'happy', 'so so', ''''
			two.mood                    | 'bleak', 'HAPPY'
			one.mood[]                  | '{happy,"so so",NULL}'
			one.moods                   | '{happy,"so so"}'
			one.positive                | '1', '2147483647'
			one.positive[]              | '{1,NULL,2}'
			one.document                | '{"b": 1, "b": 2}', 'null'
			one.documents               | ARRAY['{"b": 1}', 'null']::json[]
			one.nested                  | '{"x": 1}'
			one.feeling                 | 'happy'
			one.code                    | 'ab', 'abcde'
			one.code[]                  | '{ab,abcde}'
			one.address                 | ROW('Main "St", (1)', 5, '2024-01-01 00:00:00+05', '{"a":1}', 'happy', ARRAY[1,2])::one.address, ROW(null,null,null,null,null,null)::one.address
			one.address[]               | ARRAY[ROW('a,b', 5, null, '[1]', null, null)]::one.address[]
			one.home                    | ROW(ROW('x', 1, null, null, null, null), 'y')::one.home
			one."Odd ""Type\"""          | 'a'
			one.span                    | '[a,c)'
			""";

	private static final String EXTENSIONS = """
			hstore | '"a"=>"1", "b"=>NULL, "c d"=>"\\"x\\""', ''
			citext | 'MiXed'
			""";

	private TypeCases() {
	}

	/** Types that every server has, once {@link #TYPES} were made. */
	public static List<TypeCase> all() {
		return cases(CASES);
	}

	/** Types that are called like the extension that brings them. */
	public static List<TypeCase> ofExtensions() {
		return cases(EXTENSIONS);
	}

	/**
	 * What <code>to_jsonb</code> makes of the rows of a table, in the session that the
	 * bus makes JSON in.
	 */
	public static List<String> json(BusDatabase database, String table) {
		return Objects.requireNonNull(database.ownTransaction().execute((status) -> {
			database.own(RowSql.settings(0)).query().listOfRows();
			return database.own("select to_jsonb(t)::text from " + table + " t order by id").query(String.class).list();
		}));
	}

	private static List<TypeCase> cases(String text) {
		return text.lines().map((line) -> {
			int bar = line.indexOf('|');
			return new TypeCase(line.substring(0, bar).strip(), split(line.substring(bar + 1).strip()));
		}).toList();
	}

	/** At the commas between expressions. */
	private static List<String> split(String values) {
		List<String> parts = new ArrayList<>();
		int depth = 0;
		int start = 0;
		int i = 0;
		while (i < values.length()) {
			int end = SqlText.endOfQuotedOrComment(values, i);
			if (end > i) {
				i = end;
				continue;
			}
			char c = values.charAt(i);
			depth += (c == '(' || c == '[') ? 1 : (c == ')' || c == ']') ? -1 : 0;
			if (c == ',' && depth == 0) {
				parts.add(values.substring(start, i));
				start = i + 1;
			}
			i++;
		}
		parts.add(values.substring(start));
		return parts;
	}

	/**
	 * A type with values.
	 *
	 * @param type the type, as SQL has it
	 * @param values the values, as SQL expressions
	 */
	public record TypeCase(String type, List<String> values) {

	}

}
