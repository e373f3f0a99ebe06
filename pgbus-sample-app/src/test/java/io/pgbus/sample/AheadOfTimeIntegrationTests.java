package io.pgbus.sample;

import org.junit.jupiter.api.Test;

import org.springframework.aot.AotDetector;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigUtils;
import org.springframework.test.web.servlet.client.RestTestClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The shop as the build has processed it ahead of time. {@code mvn verify} runs this
 * after that.
 */
class AheadOfTimeIntegrationTests {

	@Test
	void orderReachesEveryGroup() {
		assertThat(AotDetector.useGeneratedArtifacts()).as("spring.aot.enabled, which the build sets").isTrue();
		SpringApplication shop = new SpringApplication(ShopApplication.class);
		// found by its main method otherwise, which is the one of the tests here
		shop.setMainApplicationClass(ShopApplication.class);
		try (ConfigurableApplicationContext context = shop.run("--server.port=0")) {
			assertThat(context.containsBean(AnnotationConfigUtils.CONFIGURATION_ANNOTATION_PROCESSOR_BEAN_NAME))
				.as("Configuration classes are parsed")
				.isFalse();
			RestTestClient http = RestTestClient.bindToServer()
				.baseUrl("http://localhost:" + context.getEnvironment().getProperty("local.server.port"))
				.build();
			long id = http.post()
				.uri("/orders")
				.body(new NewOrder("ada", "lamp", 2, 1999))
				.exchange()
				.expectStatus()
				.isCreated()
				.expectBody(OrderController.Confirmation.class)
				.returnResult()
				.getResponseBody()
				.id();
			await().untilAsserted(() -> assertThat(context.getBean(OrderService.class).find(id).orElseThrow().done())
				.extracting(OrderStatus.Step::group)
				.containsExactlyInAnyOrder("audit", "billing", "shipping"));
			http.get().uri("/actuator/pgbus/billing").exchange().expectStatus().isOk();
		}
	}

}
