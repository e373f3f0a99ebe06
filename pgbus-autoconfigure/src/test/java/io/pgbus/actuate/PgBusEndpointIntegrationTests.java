package io.pgbus.actuate;

import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

import javax.management.MBeanServer;
import javax.management.ObjectName;

import io.pgbus.actuate.OperatedApplication.Answer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The endpoint over HTTP, in an application with real events.
 */
class PgBusEndpointIntegrationTests {

	private final TestDatabase database = TestDatabase.create();

	private OperatedApplication application;

	@AfterEach
	void close() {
		if (this.application != null) {
			this.application.close();
		}
		this.database.close();
	}

	@Test
	void theOverviewShowsStreamsGroupsInstancesAndListeners() {
		start();
		publish("k", 1, 2, 3);
		await().untilAsserted(() -> {
			Answer overview = this.application.get("/pgbus");
			assertThat(overview.status()).isEqualTo(200);
			assertThat(overview.at("streams/0/stream")).isEqualTo("orders");
			assertThat(overview.at("streams/0/estimatedEvents")).isEqualTo("3");
			assertThat(overview.at("streams/0/lastEvent")).isEqualTo("3");
			assertThat(overview.at("streams/0/estimatedRate")).isNotEqualTo("0.0");
			assertThat(overview.at("streams/0/lastPublishedAt")).contains("T");
			assertThat(overview.at("groups/0/group")).isEqualTo("billing");
			assertThat(overview.at("groups/0/streams")).isEqualTo("[\"orders\"]");
			assertThat(overview.at("groups/0/estimatedLag")).isEqualTo("0");
			assertThat(overview.at("groups/0/lagSeconds")).isEqualTo("0.0");
			assertThat(overview.at("groups/0/cursors")).isEqualTo("8");
			assertThat(overview.at("groups/1/group")).isEqualTo("shipping");
			assertThat(overview.at("consumers/0/name")).startsWith("shop@");
			assertThat(overview.at("consumers/0/dead")).isEqualTo("false");
			assertThat(overview.at("consumers/0/listeners")).isEqualTo("[\"bill (billing)\",\"ship (shipping)\"]");
			assertThat(overview.at("listeners/0/id")).isEqualTo("bill");
			assertThat(overview.at("listeners/0/state")).isEqualTo("RUNNING");
		});
	}

	@Test
	void aGroupShowsWhoIsAtWhichEventsSinceWhen() {
		start();
		CountDownLatch goOn = new CountDownLatch(1);
		this.application.shop.whileBilling = () -> awaitLatch(goOn);
		publish("k", 1, 2);
		await().untilAsserted(() -> {
			Answer overview = this.application.get("/pgbus");
			assertThat(overview.at("groups/0/cursorsHeld")).isEqualTo("1");
			assertThat(overview.at("groups/0/cursorsBehind")).isEqualTo("1");
			assertThat(overview.at("groups/0/consumers/0")).startsWith("shop@");
			assertThat(overview.at("groups/0/heldSince")).contains("T");
			assertThat(Double.parseDouble(overview.at("groups/0/lagSeconds"))).isPositive();
			Answer group = this.application.get("/pgbus/billing");
			assertThat(group.body().at("/cursors")).hasSize(8).anySatisfy((cursor) -> {
				assertThat(cursor.get("stream").asString()).isEqualTo("orders");
				assertThat(cursor.get("consumer").asString()).startsWith("shop@");
				assertThat(cursor.get("heldSince").asString()).contains("T");
				assertThat(cursor.get("readingSince").asString()).contains("T");
				assertThat(cursor.get("upToEvent").asLong()).isPositive();
				assertThat(cursor.get("estimatedLag").asLong()).isPositive();
			});
		});
		goOn.countDown();
	}

	@Test
	void failuresAreListedPageByPageAndOneByOne() {
		start();
		this.application.shop.broken.addAll(IntStream.rangeClosed(1, 5).boxed().toList());
		IntStream.rangeClosed(1, 5).forEach((n) -> publish("k" + n, n));
		awaitFailures("billing", 5);
		Answer first = this.application.get("/pgbus/billing/failures?limit=3&state=dead");
		assertThat(first.body().at("/failures")).hasSize(3);
		assertThat(first.at("failures/0/id")).isEqualTo("1");
		assertThat(first.at("failures/0/key")).isEqualTo("k1");
		assertThat(first.at("failures/0/type")).isEqualTo("Integer");
		assertThat(first.at("failures/0/state")).isEqualTo("dead");
		assertThat(first.at("failures/0/attempts")).isEqualTo("1");
		assertThat(first.at("failures/0/errorType")).isEqualTo("java.lang.IllegalStateException");
		assertThat(first.at("failures/0/errorMessage")).isEqualTo("order 1 is broken");
		assertThat(first.at("failures/0/publishedAt")).contains("T");
		assertThat(first.at("failures/0/payloadSize")).isEqualTo("1");
		assertThat(first.at("failures/0/payload")).isEqualTo("missing");
		assertThat(first.at("failures/0/errorStack")).isEqualTo("missing");
		Answer second = this.application.get("/pgbus/billing/failures?limit=3&state=dead&after=" + first.at("after"));
		assertThat(second.body().at("/failures")).hasSize(2);
		assertThat(second.at("after")).isEqualTo("missing");
		assertThat(this.application.get("/pgbus/billing/failures?key=k2&type=Integer").body().at("/failures"))
			.hasSize(1);
		assertThat(this.application.get("/pgbus/billing/failures?type=other").body().at("/failures")).isEmpty();
		Answer one = this.application.get("/pgbus/billing/failures/1");
		assertThat(one.at("errorStack")).contains("OperatedApplication");
		assertThat(one.at("payload")).isEqualTo("missing");
	}

	@Test
	void deadEventsAreRetriedOneByOneByFilterOrAll() {
		start();
		this.application.shop.broken.addAll(IntStream.rangeClosed(1, 5).boxed().toList());
		IntStream.rangeClosed(1, 5).forEach((n) -> publish("k" + n, n));
		awaitFailures("billing", 5);
		this.application.shop.broken.clear();
		assertThat(this.application.post("/pgbus/billing/failures/1", "{'action': 'retry'}").text())
			.isEqualTo("{\"changed\":1,\"busy\":0,\"more\":false}");
		await().untilAsserted(() -> assertThat(this.application.shop.billed).containsExactly(1));
		assertThat(this.application.post("/pgbus/billing/failures", "{'action': 'retry', 'key': 'k2'}").at("changed"))
			.isEqualTo("1");
		await().untilAsserted(() -> assertThat(this.application.shop.billed).containsExactly(1, 2));
		assertThat(this.application.post("/pgbus/billing/failures", "{'action': 'retry', 'all': true}").at("changed"))
			.isEqualTo("3");
		await().untilAsserted(() -> assertThat(this.application.shop.billed).containsExactlyInAnyOrder(1, 2, 3, 4, 5));
		awaitFailures("billing", 0);
	}

	@Test
	void discardingAFailureLetsThoseBehindItGoOn() {
		start();
		this.application.shop.broken.add(1);
		publish("k", 1, 2, 3);
		awaitFailures("shipping", 3);
		Answer overview = this.application.get("/pgbus");
		assertThat(overview.at("groups/1/failures")).isEqualTo("{\"retrying\":0,\"held\":2,\"dead\":1}");
		Answer held = this.application.post("/pgbus/shipping/failures/2", "{'action': 'retry'}");
		assertThat(held.status()).isEqualTo(409);
		assertThat(held.at("error")).contains("Event 2 is held");
		assertThat(this.application.post("/pgbus/shipping/failures/1", "{'action': 'discard'}").at("changed"))
			.isEqualTo("1");
		await().untilAsserted(() -> assertThat(this.application.shop.shipped).containsExactly(2, 3));
		awaitFailures("shipping", 0);
	}

	@Test
	void aGroupIsPausedAndResumedOnAllInstances() {
		start();
		assertThat(this.application.post("/pgbus/billing", "{'action': 'pause'}").text())
			.isEqualTo("{\"group\":\"billing\",\"done\":\"paused\"}");
		assertThat(this.application.get("/pgbus").at("groups/0/paused")).isEqualTo("true");
		publish("k", 1);
		await().untilAsserted(() -> assertThat(this.application.shop.shipped).containsExactly(1));
		assertThat(this.application.get("/pgbus").at("groups/0/estimatedLag")).isEqualTo("1");
		assertThat(this.application.post("/pgbus/billing", "{'action': 'resume'}").status()).isEqualTo(200);
		await().untilAsserted(() -> assertThat(this.application.shop.billed).containsExactly(1));
	}

	@Test
	void aGroupIsMovedByForceOrWhenNobodyListens() {
		start();
		publish("k", 1, 2);
		await().untilAsserted(() -> assertThat(this.application.shop.billed).containsExactly(1, 2));
		Answer refused = this.application.post("/pgbus/billing", "{'action': 'seek', 'position': 'earliest'}");
		assertThat(refused.status()).isEqualTo(409);
		assertThat(refused.at("error")).contains("in use");
		Answer forced = this.application.post("/pgbus/billing",
				"{'action': 'seek', 'position': 'earliest', 'force': true}");
		assertThat(forced.status()).isEqualTo(200);
		await().untilAsserted(() -> assertThat(this.application.shop.billed).containsExactly(1, 2, 1, 2));
	}

	@Test
	void aGroupIsDeletedWhenNobodyListens() {
		start();
		Answer refused = this.application.delete("/pgbus/billing");
		assertThat(refused.status()).isEqualTo(409);
		this.application.registry.unregister("bill");
		assertThat(this.application.delete("/pgbus/billing").status()).isEqualTo(200);
		assertThat(this.application.get("/pgbus").at("groups/0/group")).isEqualTo("shipping");
		assertThat(this.application.get("/pgbus/billing").status()).isEqualTo(404);
	}

	@Test
	void aListenerOfThisInstanceIsPausedResumedStoppedAndStarted() {
		start();
		assertThat(act("pause").at("state")).isEqualTo("PAUSED");
		assertThat(act("resume").at("state")).isEqualTo("RUNNING");
		act("stop");
		await().untilAsserted(
				() -> assertThat(this.application.get("/pgbus").at("listeners/0/state")).isEqualTo("STOPPED"));
		publish("k", 1);
		await().untilAsserted(() -> assertThat(this.application.shop.shipped).containsExactly(1));
		assertThat(this.application.shop.billed).isEmpty();
		assertThat(act("start").at("state")).isEqualTo("RUNNING");
		await().untilAsserted(() -> assertThat(this.application.shop.billed).containsExactly(1));
	}

	@Test
	void aStopDoesNotWaitForTheHandlerAndAStartIsRefusedMeanwhile() {
		start();
		CountDownLatch goOn = new CountDownLatch(1);
		CountDownLatch inHandler = new CountDownLatch(1);
		this.application.shop.whileBilling = () -> {
			inHandler.countDown();
			awaitLatch(goOn);
		};
		publish("k", 1);
		awaitLatch(inHandler);
		assertThat(act("stop").at("state")).isEqualTo("STOPPING");
		Answer start = act("start");
		assertThat(start.status()).isEqualTo(409);
		assertThat(start.at("error")).contains("still waits");
		goOn.countDown();
	}

	@Test
	void whatIsNotThereOrNotUnderstoodIsSaidSo() {
		start();
		assertThat(this.application.get("/pgbus/none").status()).isEqualTo(404);
		assertThat(this.application.get("/pgbus/none/failures").status()).isEqualTo(404);
		assertThat(this.application.get("/pgbus/billing/failures/17").status()).isEqualTo(404);
		assertThat(this.application.get("/pgbus/billing/other").status()).isEqualTo(404);
		assertRefused("/pgbus/none", "{'action': 'pause'}", 404, "no group");
		assertRefused("/pgbus/billing/failures/17", "{'action': 'retry'}", 404, "not among");
		assertRefused("/pgbus/none/failures", "{'action': 'retry', 'all': true}", 404, "no group");
		assertRefused("/pgbus/billing", "{'action': 'explode'}", 400, "[pause, resume, seek, backfill]");
		assertRefused("/pgbus/billing", "{}", 400, "[pause, resume, seek, backfill]");
		assertRefused("/pgbus/billing", "{'action': 'seek'}", 400, "position");
		assertRefused("/pgbus/billing", "{'action': 'seek', 'position': 'soon'}", 400, "earliest");
		assertRefused("/pgbus/billing/failures", "{'action': 'retry'}", 400, "Say which events");
		assertRefused("/pgbus/billing/failures", "{'action': 'retry', 'state': 'odd'}", 400, "[retrying, held, dead]");
		assertRefused("/pgbus", "{'action': 'stop'}", 400, "which listener");
		assertRefused("/pgbus", "{'action': 'stop', 'listener': 'other'}", 404, "no listener");
		assertThat(this.application.get("/pgbus/billing/failures?limit=1000").at("error")).contains("from 1 to 100");
		assertThat(this.application.get("/pgbus/billing/failures?state=odd").at("error"))
			.contains("[retrying, held, dead]");
		assertThat(this.application.delete("/pgbus/none").status()).isEqualTo(404);
	}

	@Test
	void withAccessReadOnlyNothingCanBeChanged() {
		start("management.endpoint.pgbus.access=read-only");
		this.application.shop.broken.add(1);
		publish("k", 1);
		awaitFailures("billing", 1);
		assertThat(this.application.get("/pgbus").status()).isEqualTo(200);
		assertThat(this.application.get("/pgbus/billing").status()).isEqualTo(200);
		assertThat(this.application.get("/pgbus/billing/failures/1").status()).isEqualTo(200);
		assertThat(this.application.post("/pgbus", "{'action': 'stop', 'listener': 'bill'}").status()).isEqualTo(405);
		assertThat(this.application.post("/pgbus/billing", "{'action': 'pause'}").status()).isEqualTo(405);
		assertThat(this.application.delete("/pgbus/billing").status()).isEqualTo(405);
		assertThat(this.application.post("/pgbus/billing/failures", "{'action': 'discard', 'all': true}").status())
			.isEqualTo(405);
		assertThat(this.application.post("/pgbus/billing/failures/1", "{'action': 'discard'}").status()).isEqualTo(405);
		awaitFailures("billing", 1);
	}

	@Test
	void withoutAccessThereIsNoEndpoint() {
		start("management.endpoint.pgbus.access=none");
		assertThat(this.application.get("/pgbus").status()).isEqualTo(404);
	}

	@Test
	void theEndpointIsThereOverJmxToo() throws Exception {
		start("spring.jmx.enabled=true", "management.endpoints.jmx.exposure.include=pgbus",
				"spring.jmx.default-domain=pgbus.test");
		MBeanServer server = ManagementFactory.getPlatformMBeanServer();
		ObjectName name = new ObjectName("pgbus.test:type=Endpoint,name=Pgbus");
		assertThat(server.invoke(name, "overview", new Object[0], new String[0]).toString()).contains("billing");
		String[] signature = { String.class.getName(), String.class.getName(), String.class.getName(),
				Boolean.class.getName() };
		server.invoke(name, "changeGroup", new Object[] { "billing", "pause", null, null }, signature);
		assertThat(this.application.get("/pgbus").at("groups/0/paused")).isEqualTo("true");
	}

	private void start(String... properties) {
		this.application = OperatedApplication.start(this.database, properties);
	}

	private void publish(String key, int... orders) {
		IntStream.of(orders).forEach((order) -> this.application.publisher.publish("orders", key, order));
	}

	private Answer act(String action) {
		return this.application.post("/pgbus", "{'listener': 'bill', 'action': '" + action + "'}");
	}

	private void awaitFailures(String group, int count) {
		await().untilAsserted(
				() -> assertThat(this.application.get("/pgbus/" + group + "/failures").body().at("/failures"))
					.hasSize(count));
	}

	private void assertRefused(String path, String body, int status, String error) {
		Answer answer = this.application.post(path, body);
		assertThat(answer.at("error")).as(path + " " + body).contains(error);
		assertThat(answer.status()).isEqualTo(status);
	}

	private static void awaitLatch(CountDownLatch latch) {
		try {
			latch.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
