package io.pgbus.autoconfigure;

import io.pgbus.EventPublisher;
import io.pgbus.OutgoingEvent;
import io.pgbus.PgBusException;
import io.pgbus.listener.PgListenerEndpoint;
import io.pgbus.testing.TestDatabase;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Streams that the application declares, and their names.
 */
class DeclaredStreamsIntegrationTests {

	private static final TestDatabase database = TestDatabase.create();

	private static final String LONGEST = "😀".repeat(OutgoingEvent.MAX_NAME_LENGTH);

	@AfterAll
	static void dropDatabase() {
		database.close();
	}

	@Test
	void declaredStreamsAreMadeWithTheirPartitionsWhateverTheirNames() {
		BusApplication.on(database)
			.withPropertyValues("pgbus.streams.orders.partitions=3", "pgbus.streams.[order.events].partitions=1",
					"pgbus.streams.[Größe 😀 'x' \"y\"].partitions=1024",
					"pgbus.streams.[" + LONGEST + "].partitions=2", "pgbus.streams.defaults.partitions=8")
			.run((context) -> {
				assertThat(partitions("orders")).isEqualTo(3);
				assertThat(partitions("order.events")).isOne();
				assertThat(partitions("Größe 😀 'x' \"y\"")).isEqualTo(1024);
				assertThat(partitions(LONGEST)).isEqualTo(2);
				context.getBean(EventPublisher.class).publish("undeclared", 1);
				assertThat(partitions("undeclared")).isEqualTo(8);
			});
		BusApplication.on(database)
			.withPropertyValues("pgbus.streams.orders.partitions=3")
			.run((context) -> assertThat(context).hasNotFailed());
	}

	@Test
	void countThatDiffersFromTheStoredOneIsExplained() {
		BusApplication.on(database)
			.withPropertyValues("pgbus.streams.[counted twice].partitions=3")
			.run((context) -> assertThat(context).hasNotFailed());
		BusApplication.on(database)
			.withPropertyValues("pgbus.streams.[counted twice].partitions=4")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("\"counted twice\" has 3 partitions")
				.hasMessageContaining("pgbus.streams declares 4")
				.hasMessageContaining("another name"));
		assertThat(partitions("counted twice")).isEqualTo(3);
	}

	@ParameterizedTest
	@ValueSource(strings = { "[orders].partitions=0", "[orders].partitions=1025", "[orders].partitions=-1",
			"[ ].partitions=1" })
	void declarationThatCannotHoldIsRefused(String declaration) {
		BusApplication.on(database)
			.withPropertyValues("pgbus.streams." + declaration)
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(PgBusException.class)
				.hasMessageContaining("pgbus.streams declares"));
	}

	@Test
	void howLongEventsAreKeptIsStoredAndStaysWhereItIsNotDeclared() {
		BusApplication.on(database)
			.withPropertyValues("pgbus.streams.a.retention=30d", "pgbus.streams.b.retention=Consumed",
					"pgbus.streams.c.retention=PT36H", "pgbus.streams.d.partitions=8")
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(retention("a")).isEqualTo(30 * 86_400);
		assertThat(retention("b")).isZero();
		assertThat(retention("c")).isEqualTo(36 * 3600);
		assertThat(retention("d")).isNull();
		BusApplication.on(database)
			.withPropertyValues("pgbus.streams.a.partitions=8", "pgbus.streams.c.retention=forever")
			.run((context) -> assertThat(context).hasNotFailed());
		assertThat(retention("a")).isEqualTo(30 * 86_400);
		assertThat(retention("c")).isNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { "-1d", "0", "a while", "30d forever" })
	void retentionThatIsNoneIsExplained(String retention) {
		BusApplication.on(database)
			.withPropertyValues("pgbus.streams.kept.retention=" + retention)
			.run((context) -> assertThat(context).getFailure()
				.hasStackTraceContaining("pgbus.streams.kept.retention is \"" + retention + "\"")
				.hasStackTraceContaining("consumed"));
	}

	private static @Nullable Integer retention(String stream) {
		return (Integer) database.jdbc()
			.sql("select extract(epoch from retention)::int as seconds from pgbus.stream where name = ?")
			.param(stream)
			.query()
			.singleRow()
			.get("seconds");
	}

	@Test
	void publishersListenersAndDeclarationsAgreeOnHowLongANameMayBe() {
		String tooLong = LONGEST + "x";
		assertThatCode(() -> OutgoingEvent.to(LONGEST).payload(1)).doesNotThrowAnyException();
		assertThatCode(() -> endpoint(LONGEST, LONGEST)).doesNotThrowAnyException();
		assertThatThrownBy(() -> OutgoingEvent.to(tooLong).payload(1)).hasMessageContaining("200");
		assertThatThrownBy(() -> endpoint(tooLong, "g")).hasMessageContaining("200");
		assertThatThrownBy(() -> endpoint("s", tooLong)).hasMessageContaining("200");
		BusApplication.on(database)
			.withPropertyValues("pgbus.streams.[" + tooLong + "].partitions=1")
			.run((context) -> assertThat(context).getFailure().rootCause().hasMessageContaining("200"));
	}

	private static PgListenerEndpoint endpoint(String stream, String group) {
		return PgListenerEndpoint.id("listener").group(group).streams(stream).onEvent(String.class, (event) -> {
		});
	}

	private static int partitions(String stream) {
		return database.jdbc()
			.sql("select partitions from pgbus.stream where name = ?")
			.param(stream)
			.query(Integer.class)
			.single();
	}

}
