package io.pgbus.autoconfigure;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import javax.sql.DataSource;

import io.pgbus.Event;
import io.pgbus.EventPublisher;
import io.pgbus.OutgoingEvent;
import io.pgbus.PgBusException;
import io.pgbus.annotation.PgEventListener;
import io.pgbus.testing.TestDatabase;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

import org.springframework.boot.persistence.autoconfigure.EntityScan;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * An application that uses JPA: publishing and exactly-once listeners are part of its
 * transactions.
 */
class JpaIntegrationTests {

	private static final TestDatabase database = TestDatabase.create();

	private final ApplicationContextRunner application = BusApplication.on(database)
		.withConfiguration(BusApplication.jpa())
		.withUserConfiguration(Entities.class)
		.withPropertyValues("spring.jpa.hibernate.ddl-auto=update");

	@AfterAll
	static void dropDatabase() {
		database.close();
	}

	@Test
	void publishingAndExactlyOnceListenersArePartOfJpaTransactions() {
		this.application.withBean(Shipping.class).run((context) -> {
			assertThat(context).getBean(PlatformTransactionManager.class).isInstanceOf(JpaTransactionManager.class);
			TransactionTemplate transaction = new TransactionTemplate(
					context.getBean(PlatformTransactionManager.class));
			EventPublisher publisher = context.getBean(EventPublisher.class);
			EntityManager entities = context.getBean(EntityManager.class);
			transaction.executeWithoutResult((status) -> {
				entities.persist(new Shipment("ghost"));
				publisher.publish("orders", "ghost");
				status.setRollbackOnly();
			});
			transaction.executeWithoutResult(
					(status) -> publisher.publishAll(List.of(OutgoingEvent.to("orders").key("k").payload("fails once"),
							OutgoingEvent.to("orders").key("k").payload("fine"))));
			await().untilAsserted(() -> assertThat(shipped(context.getBean(JdbcClient.class)))
				.containsExactlyInAnyOrder("fails once, attempt 2", "fine, attempt 1"));
			assertThat(context.getBean(Shipping.class).failed()).hasSize(1);
		});
	}

	@Test
	void readOnlyJpaTransactionIsRefused() {
		this.application.run((context) -> {
			TransactionTemplate transaction = new TransactionTemplate(
					context.getBean(PlatformTransactionManager.class));
			transaction.setReadOnly(true);
			EventPublisher publisher = context.getBean(EventPublisher.class);
			transaction.executeWithoutResult((status) -> assertThatThrownBy(() -> publisher.publish("read-only", "x"))
				.isInstanceOf(PgBusException.class));
		});
	}

	@Test
	void ofTwoTransactionManagersListenersUseThePrimaryOne() {
		this.application.withUserConfiguration(TwoTransactionManagers.class)
			.run((context) -> assertThat(context.getBean(BusTransactions.class).transactionManager())
				.isSameAs(context.getBean("jpaTransactionManager")));
	}

	private static List<String> shipped(JdbcClient jdbc) {
		return jdbc.sql("select id from shipment").query(String.class).list();
	}

	@Configuration(proxyBeanMethods = false)
	@EntityScan(basePackageClasses = JpaIntegrationTests.class)
	static class Entities {

	}

	@Configuration(proxyBeanMethods = false)
	static class TwoTransactionManagers {

		@Bean
		@Order(Ordered.HIGHEST_PRECEDENCE)
		JdbcTransactionManager jdbcTransactionManager(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		@Primary
		JpaTransactionManager jpaTransactionManager(EntityManagerFactory entityManagerFactory) {
			return new JpaTransactionManager(entityManagerFactory);
		}

	}

	@Entity(name = "shipment")
	static class Shipment {

		@Id
		String id;

		protected Shipment() {
		}

		Shipment(String id) {
			this.id = id;
		}

	}

	static class Shipping {

		private final EntityManager entities;

		private final EventPublisher publisher;

		private final Set<String> failed = ConcurrentHashMap.newKeySet();

		Shipping(EntityManager entities, EventPublisher publisher) {
			this.entities = entities;
			this.publisher = publisher;
		}

		/** Spring puts a proxy before this. */
		Set<String> failed() {
			return this.failed;
		}

		@PgEventListener(streams = "orders", group = "shipping", start = "earliest")
		@Transactional(propagation = Propagation.MANDATORY)
		void ship(Event<String> event) {
			this.entities.persist(new Shipment(event.payload() + ", attempt " + event.attempt()));
			this.publisher.publish("shipments", event.payload());
			if (event.payload().equals("fails once") && this.failed.add(event.payload())) {
				this.entities.flush();
				throw new IllegalStateException("Not this time");
			}
		}

	}

}
