package io.pgbus.sample;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.webmvc.test.autoconfigure.WebMvcTest;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.test.context.bean.override.mockito.MockitoBean;
import org.springframework.test.web.servlet.assertj.MockMvcTester;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;

/**
 * Tests for {@link OrderController}.
 */
@WebMvcTest(OrderController.class)
class OrderControllerTests {

	@Autowired
	private MockMvcTester mvc;

	@MockitoBean
	private OrderService orders;

	@Test
	void placesOrder() {
		given(this.orders.place(new NewOrder("ada", "lamp", 2, 1999))).willReturn(42L);
		assertThat(post("""
				{"customer": "ada", "item": "lamp", "quantity": 2, "priceCents": 1999}"""))
			.hasStatus(HttpStatus.CREATED)
			.hasHeader("Location", "/orders/42")
			.bodyJson()
			.isStrictlyEqualTo("{\"id\": 42}");
	}

	@ParameterizedTest
	@ValueSource(strings = { "{}", "{\"customer\": \"ada\", \"item\": \"lamp\", \"quantity\": 2}",
			"{\"customer\": \" \", \"item\": \"lamp\", \"quantity\": 2, \"priceCents\": 1999}",
			"{\"customer\": \"ada\", \"item\": \"lamp\", \"quantity\": 0, \"priceCents\": 1999}" })
	void refusesOrderThatIsNotValid(String order) {
		assertThat(post(order)).hasStatus(HttpStatus.BAD_REQUEST);
		then(this.orders).shouldHaveNoInteractions();
	}

	@Test
	void knowsNoOtherOrders() {
		assertThat(this.mvc.get().uri("/orders/42")).hasStatus(HttpStatus.NOT_FOUND);
	}

	private MockMvcTester.MockMvcRequestBuilder post(String order) {
		return this.mvc.post().uri("/orders").contentType(MediaType.APPLICATION_JSON).content(order);
	}

}
