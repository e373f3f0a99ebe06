package io.pgbus.sample;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;

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
 * The stream has one partition here. So when an order went through every group, all that
 * was published before it did, and there is no need to wait for what should not happen.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = "pgbus.streams.orders.partitions=1")
@Import(TestDatabaseConfiguration.class)
class ShopApplicationIntegrationTests {

	/** Long, for machines that are busy with other things. */
	private static final Duration PATIENCE = Duration.ofMinutes(1);

	/** Nobody else's, so that it tells the orders of this test from others. */
	private final String customer = "customer " + UUID.randomUUID();

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
		letAnotherOrderPass();
		assertThat(groupsDoneWith(id)).containsExactlyInAnyOrder("audit", "billing", "shipping");
	}

	@Test
	void orderThatCannotBeShippedIsBilledAndHoldsUpNoOthers() {
		long id = place("broken-lamp");
		letAnotherOrderPass();
		assertThat(groupsDoneWith(id)).containsExactlyInAnyOrder("audit", "billing");
	}

	@Test
	void orderOfARepairedItemIsShippedWhenAnOperatorRetriesItsEvent() {
		String item = "item " + this.customer.hashCode();
		this.jdbc.sql("insert into broken_item (item) values (?)").param(item).update();
		long id = place(item);
		await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(failures("state=dead&key=" + id)).contains("Cannot ship a " + item));
		this.http.delete().uri("/broken-items/{item}", item).exchange().expectStatus().isNoContent();
		this.http.post()
			.uri("/actuator/pgbus/shipping/failures")
			.body(Map.of("action", "retry", "key", Long.toString(id)))
			.exchange()
			.expectStatus()
			.isOk();
		await().atMost(PATIENCE)
			.untilAsserted(
					() -> assertThat(groupsDoneWith(id)).containsExactlyInAnyOrder("audit", "billing", "shipping"));
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
		letAnotherOrderPass();
		assertThat(auditedOrders()).isZero();
	}

	@Test
	void orderThatIsRolledBackAfterPublishingReachesNoGroup() {
		assertThatIllegalStateException().isThrownBy(() -> this.transaction.executeWithoutResult((status) -> {
			this.orders.place(new NewOrder(this.customer, "lamp", 1, 1999));
			throw new IllegalStateException("The disk is full");
		}));
		letAnotherOrderPass();
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

	private void letAnotherOrderPass() {
		long id = this.orders.place(new NewOrder("another customer", "chair", 1, 4999));
		await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(groupsDoneWith(id)).contains("audit", "billing", "shipping"));
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
