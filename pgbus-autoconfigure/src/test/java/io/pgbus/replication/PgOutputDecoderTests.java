package io.pgbus.replication;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

import io.pgbus.TableOperation;
import io.pgbus.replication.PgOutputMessage.Begin;
import io.pgbus.replication.PgOutputMessage.Change;
import io.pgbus.replication.PgOutputMessage.Commit;
import io.pgbus.replication.PgOutputMessage.Other;
import io.pgbus.replication.PgOutputMessage.Truncate;
import io.pgbus.store.Relation;
import io.pgbus.store.RowChange.Row;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

class PgOutputDecoderTests {

	/** A value that the update did not touch. */
	private static final String UNCHANGED = new String("unchanged");

	private final PgOutputDecoder decoder = new PgOutputDecoder();

	@Test
	void aTransactionBeginsAndEnds() {
		assertThat(decode(message('B').putLong(0x1_0000_0042L).putLong(1_500_000).putInt(-7)))
			.isEqualTo(new Begin(0x1_0000_0042L, Instant.parse("2000-01-01T00:00:01.5Z"), -7));
		assertThat(decode(message('C').put((byte) 0).putLong(1).putLong(0x1_0000_0050L).putLong(0)))
			.isEqualTo(new Commit(0x1_0000_0050L));
	}

	@Test
	void commitTimesBeforeTheEpochAreRight() {
		assertThat(decode(message('B').putLong(1).putLong(-1).putInt(7)))
			.isEqualTo(new Begin(1, Instant.parse("1999-12-31T23:59:59.999999Z"), 7));
	}

	@Test
	void anInsertHasTheValuesAsText() {
		describe('d', "shop", "bestell\u00fcbersicht \ud83d\ude00");
		Change change = (Change) decode(row(message('I').putInt(42), 'N', "1", null, "\u00fc\ud83d\ude00"));
		assertThat(change.operation()).isEqualTo(TableOperation.INSERT);
		assertThat(change.relation())
			.isEqualTo(new Relation(42, "shop", "bestell\u00fcbersicht \ud83d\ude00", false, columns(false)));
		assertThat(change.record()).isEqualTo(values("1", null, "\u00fc\ud83d\ude00"));
		assertThat(change.previous()).isNull();
	}

	@Test
	void anUpdateWithoutAnOldRowHasNone() {
		describe('d', "public", "t");
		Change change = (Change) decode(row(message('U').putInt(42), 'N', "1", "", UNCHANGED));
		assertThat(change.operation()).isEqualTo(TableOperation.UPDATE);
		assertThat(change.previous()).isNull();
		assertThat(change.record()).isEqualTo(new Row(Arrays.asList("1", "", null), Set.of(2)));
	}

	@Test
	void anUpdateOfTheKeyHasTheOldKey() {
		describe('d', "public", "t");
		Change change = (Change) decode(
				row(row(message('U').putInt(42), 'K', "1", null, null), 'N', "2", "x", UNCHANGED));
		assertThat(change.previous()).isEqualTo(values("1", null, null));
		assertThat(change.record()).isEqualTo(new Row(Arrays.asList("2", "x", null), Set.of(2)));
	}

	@Test
	void aWholeOldRowHasTheValuesThatWereNotTouched() {
		describe('f', "public", "t");
		Change change = (Change) decode(
				row(row(message('U').putInt(42), 'O', "1", "a", "large"), 'N', "1", "b", UNCHANGED));
		assertThat(change.relation().wholeRows()).isTrue();
		assertThat(change.previous()).isEqualTo(values("1", "a", "large"));
		assertThat(change.record()).isEqualTo(values("1", "b", "large"));
	}

	@Test
	void aWholeOldRowThatLacksAValueItselfGivesNone() {
		describe('f', "public", "t");
		Change change = (Change) decode(
				row(row(message('U').putInt(42), 'O', "1", "a", UNCHANGED), 'N', "1", "b", UNCHANGED));
		assertThat(change.record()).isEqualTo(new Row(Arrays.asList("1", "b", null), Set.of(2)));
	}

	@Test
	void aDeleteHasTheOldRow() {
		describe('d', "public", "t");
		Change change = (Change) decode(row(message('D').putInt(42), 'K', "1", null, null));
		assertThat(change.operation()).isEqualTo(TableOperation.DELETE);
		assertThat(change.record()).isNull();
		assertThat(change.previous()).isEqualTo(values("1", null, null));
	}

	@Test
	void aTruncateHasAllItsTables() {
		describe('d', "public", "t");
		Truncate truncate = (Truncate) decode(message('T').putInt(2).put((byte) 1).putInt(42).putInt(42));
		assertThat(truncate.relations()).extracting(Relation::name).containsExactly("t", "t");
	}

	@Test
	void aTableIsWhatItWasDescribedAsLast() {
		describe('d', "public", "t");
		describe('d', "public", "renamed");
		assertThat(((Change) decode(row(message('I').putInt(42), 'N', "1", "2", "3"))).relation().name())
			.isEqualTo("renamed");
	}

	@Test
	void anEmptySchemaIsThatOfTheCatalog() {
		describe('d', "", "t");
		assertThat(((Change) decode(row(message('I').putInt(42), 'N', "1", "2", "3"))).relation().schema())
			.isEqualTo("pg_catalog");
	}

	@Test
	void typesOriginsAndMessagesOfOthersAreLeftOut() {
		assertThat(decode(text(text(message('Y').putInt(1), "public"), "mood"))).isEqualTo(new Other());
		assertThat(decode(text(message('O').putLong(1), "elsewhere"))).isEqualTo(new Other());
		assertThat(decode(text(message('M').put((byte) 0).putLong(1), "prefix").putInt(0))).isEqualTo(new Other());
	}

	@Test
	void whatIsNoMessageIsRefused() {
		assertThatIllegalStateException().isThrownBy(() -> decode(message('Z')))
			.withMessage("The protocol has no message of type 'Z'");
		assertThatIllegalStateException().isThrownBy(() -> decode(message('B').putInt(1)))
			.withMessage("A message of type 'B' ends too early");
		assertThatIllegalStateException().isThrownBy(() -> decode(message('I').putInt(-2).put((byte) 'N')))
			.withMessage("The stream has not described the table with the oid 4294967294");
		describe('d', "public", "t");
		assertThatIllegalStateException().isThrownBy(() -> decode(row(message('I').putInt(42), 'N', "1")))
			.withMessage("A row of \"public\".\"t\" has 1 values for 3 columns");
		assertThatIllegalStateException()
			.isThrownBy(() -> decode(message('I').putInt(42).put((byte) 'N').putShort((short) 3).put((byte) 'b')))
			.withMessage("Expected one of 'tnu' and found 'b'");
		assertThatIllegalStateException()
			.isThrownBy(
					() -> decode(message('I').putInt(42).put((byte) 'N').putShort((short) 3).put((byte) 't').putInt(9)))
			.withMessage("A value has 9 bytes, of which 0 are there");
	}

	private void describe(char identity, String schema, String name) {
		ByteBuffer message = text(text(message('R').putInt(42), schema), name).put((byte) identity).putShort((short) 3);
		column(message, identity == 'f' ? 1 : 1, "id", 20);
		column(message, identity == 'f' ? 1 : 0, "gr\u00f6\u00dfe", 25);
		column(message, identity == 'f' ? 1 : 0, "doc", 25);
		assertThat(decode(message)).isEqualTo(new Other());
	}

	private static List<Relation.Column> columns(boolean full) {
		return List.of(new Relation.Column("id", 20, -1, true), new Relation.Column("gr\u00f6\u00dfe", 25, -1, full),
				new Relation.Column("doc", 25, -1, full));
	}

	private static void column(ByteBuffer message, int flags, String name, int type) {
		text(message.put((byte) flags), name).putInt(type).putInt(-1);
	}

	private static ByteBuffer row(ByteBuffer message, char kind, @Nullable String... values) {
		message.put((byte) kind).putShort((short) values.length);
		for (String value : values) {
			if (value == null || value == UNCHANGED) {
				message.put((byte) ((value == null) ? 'n' : 'u'));
			}
			else {
				byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
				message.put((byte) 't').putInt(bytes.length).put(bytes);
			}
		}
		return message;
	}

	private static Row values(@Nullable String... values) {
		return new Row(Arrays.asList(values), Set.of());
	}

	private static ByteBuffer text(ByteBuffer message, String text) {
		return message.put(text.getBytes(StandardCharsets.UTF_8)).put((byte) 0);
	}

	private static ByteBuffer message(char type) {
		return ByteBuffer.allocate(1000).put((byte) type);
	}

	/** As a slice, which is how the driver hands messages out. */
	private PgOutputMessage decode(ByteBuffer message) {
		message.flip();
		ByteBuffer moved = ByteBuffer.allocate(message.limit() + 5).position(5).put(message).position(5);
		return this.decoder.decode(moved.slice());
	}

}
