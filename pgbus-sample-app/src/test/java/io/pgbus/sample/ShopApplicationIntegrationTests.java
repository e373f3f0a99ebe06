package io.pgbus.sample;

import java.util.List;
import java.util.Map;
import java.util.UUID;

import io.pgbus.Event;
import io.pgbus.test.AutoConfigurePgBusTester;
import io.pgbus.test.CapturedEvents;
import io.pgbus.test.PgBusTester;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.web.servlet.client.RestTestClient;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * The shop as a whole: orders come in over HTTP, and each consumer group does its part.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = { "pgbus.listener.retry.back-off=10ms",
		// a server has one slot of a name, also for the databases of other tests
		"pgbus.capture.slot=shop_test_${random.int(1000000000)}" })
@AutoConfigurePgBusTester
@Import(TestDatabaseConfiguration.class)
class ShopApplicationIntegrationTests {

	/** Nobody else's, so that it tells the orders of this test from others. */
	private final String customer = "customer " + UUID.randomUUID();

	@Autowired
	private PgBusTester bus;

	@Autowired
	private OrderService orders;

	@Autowired
	private JdbcClient jdbc;

	@Autowired
	private TransactionTemplate transaction;

	private RestTestClient http;

	@BeforeEach
	void connect(@LocalServerPort int port) {
		this.http = RestTestClient.bindToServer().baseUrl("http://localhost:" + port).build();
	}

	@Test
	void orderReachesEveryGroupOnce() {
		long id = place("lamp");
		this.bus.awaitHandled();
		assertThat(groupsDoneWith(id)).containsExactlyInAnyOrder("audit", "billing", "shipping");
	}

	@Test
	void orderIsPublishedAsItWasPlaced() {
		try (CapturedEvents captured = this.bus.capture("orders")) {
			long id = place("lamp");
			Event<String> event = captured.await(1).get(0);
			assertThat(event.type()).isEqualTo("order.placed");
			assertThat(event.key()).isEqualTo(Long.toString(id));
			assertThat(event.payload()).contains("\"orderId\": " + id, this.customer, "lamp");
		}
	}

	@Test
	void orderIsAddedToTheRevenueOfItsCustomerAlsoIfItIsPutIntoTheTableByHand() {
		place("lamp");
		this.jdbc.sql("insert into orders (customer, item, quantity, price_cents) values (?, 'chair', 1, 5)")
			.param(this.customer)
			.update();
		await().untilAsserted(() -> assertThat(this.orders.revenue(this.customer)).isEqualTo(2 * 1999 + 5));
	}

	@Test
	void orderThatCannotBeShippedIsBilledAndHoldsUpNoOthers() {
		long broken = place("broken-lamp");
		long id = place("lamp");
		this.bus.awaitHandled();
		assertThat(groupsDoneWith(broken)).containsExactlyInAnyOrder("audit", "billing");
		assertThat(groupsDoneWith(id)).containsExactlyInAnyOrder("audit", "billing", "shipping");
	}

	@Test
	void orderOfARepairedItemIsShippedWhenAnOperatorRetriesItsEvent() {
		String item = "item " + this.customer.hashCode();
		this.http.put().uri("/broken-items/{item}", item).exchange().expectStatus().isNoContent();
		long id = place(item);
		this.bus.awaitHandled();
		assertThat(failures("state=dead&key=" + id)).contains("Cannot ship a " + item);
		this.http.delete().uri("/broken-items/{item}", item).exchange().expectStatus().isNoContent();
		this.http.post()
			.uri("/actuator/pgbus/shipping/failures")
			.body(Map.of("action", "retry", "key", Long.toString(id)))
			.exchange()
			.expectStatus()
			.isOk();
		this.bus.awaitHandled();
		assertThat(groupsDoneWith(id)).containsExactlyInAnyOrder("audit", "billing", "shipping");
	}

	private String failures(String query) {
		return this.http.get()
			.uri("/actuator/pgbus/shipping/failures?" + query)
			.exchange()
			.expectBody(String.class)
			.returnResult()
			.getResponseBody();
	}

	@Test
	void orderThatIsRefusedPublishesNothing() {
		this.http.post()
			.uri("/orders")
			.body(new NewOrder(this.customer, "lamp", 0, 1999))
			.exchange()
			.expectStatus()
			.isBadRequest();
		this.bus.awaitHandled();
		assertThat(auditedOrders()).isZero();
	}

	@Test
	void orderThatIsRolledBackAfterPublishingReachesNoGroup() {
		assertThatIllegalStateException().isThrownBy(() -> this.transaction.executeWithoutResult((status) -> {
			this.orders.place(new NewOrder(this.customer, "lamp", 1, 1999));
			throw new IllegalStateException("The disk is full");
		}));
		this.bus.awaitHandled();
		assertThat(auditedOrders()).isZero();
	}

	private long place(String item) {
		return this.http.post()
			.uri("/orders")
			.body(new NewOrder(this.customer, item, 2, 1999))
			.exchange()
			.expectStatus()
			.isCreated()
			.expectBody(OrderController.Confirmation.class)
			.returnResult()
			.getResponseBody()
			.id();
	}

	private List<String> groupsDoneWith(long id) {
		OrderStatus status = this.http.get()
			.uri("/orders/{id}", id)
			.exchange()
			.expectStatus()
			.isOk()
			.expectBody(OrderStatus.class)
			.returnResult()
			.getResponseBody();
		return status.done().stream().map(OrderStatus.Step::group).toList();
	}

	/** The group "audit" sees every event that there is. */
	private long auditedOrders() {
		return this.jdbc.sql("select count(*) from audit_entry where payload->>'customer' = ?")
			.param(this.customer)
			.query(Long.class)
			.single();
	}

}
