package io.pgbus.actuate;

import io.pgbus.actuate.OperatedApplication.Answer;
import io.pgbus.testing.TestDatabase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Who may see the payloads of failed events.
 */
class PayloadsIntegrationTests {

	private final TestDatabase database = TestDatabase.create();

	private OperatedApplication application;

	@AfterEach
	void close() {
		this.application.close();
		this.database.close();
	}

	@Test
	void payloadsAreShownToAuthenticatedUsersWhenAuthorized() {
		this.application = OperatedApplication.startSecured(this.database,
				"pgbus.endpoint.show-payloads=when-authorized");
		assertThat(this.application.get("/pgbus").status()).isEqualTo(401);
		assertThat(payload()).isEqualTo("7");
	}

	@Test
	void payloadsAreShownToThoseWithARoleWhenAuthorized() {
		this.application = OperatedApplication.startSecured(this.database,
				"pgbus.endpoint.show-payloads=when-authorized", "pgbus.endpoint.roles=OPERATOR");
		assertThat(payload()).isEqualTo("7");
	}

	@Test
	void payloadsAreHiddenFromThoseWithoutTheRole() {
		this.application = OperatedApplication.startSecured(this.database,
				"pgbus.endpoint.show-payloads=when-authorized", "pgbus.endpoint.roles=ADMIN");
		assertThat(payload()).isEqualTo("missing");
	}

	@Test
	void payloadsAreHiddenFromTheUnknownWhenAuthorized() {
		this.application = OperatedApplication.start(this.database, "pgbus.endpoint.show-payloads=when-authorized");
		assertThat(payload()).isEqualTo("missing");
	}

	@Test
	void payloadsAreHiddenByDefaultFromEveryone() {
		this.application = OperatedApplication.startSecured(this.database);
		assertThat(payload()).isEqualTo("missing");
	}

	@Test
	void payloadsAreAlwaysShownIfThatIsConfigured() {
		this.application = OperatedApplication.start(this.database, "pgbus.endpoint.show-payloads=always");
		assertThat(payload()).isEqualTo("7");
	}

	private String payload() {
		this.application.shop.broken.add(7);
		long id = this.application.publisher.publish("orders", "k", 7);
		String path = "/pgbus/billing/failures";
		await().untilAsserted(() -> assertThat(this.application.getAsAda(path).body().at("/failures")).hasSize(1));
		Answer one = this.application.getAsAda(path + "/" + id);
		assertThat(one.at("errorMessage")).isEqualTo("order 7 is broken");
		assertThat(one.at("payload")).isEqualTo(this.application.getAsAda(path).at("failures/0/payload"));
		return one.at("payload");
	}

}
