package io.pgbus.autoconfigure;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HashSet;
import java.util.Set;
import java.util.function.BiFunction;

import io.micrometer.observation.ObservationRegistry;
import io.pgbus.ConsumerGroupOperations;
import io.pgbus.DeadLetterListener;
import io.pgbus.EventErrorHandler;
import io.pgbus.RetryPolicy;
import io.pgbus.annotation.PgEventListenerAnnotationBeanPostProcessor;
import io.pgbus.core.EventConverter;
import io.pgbus.listener.BusConsumer;
import io.pgbus.listener.DefaultConsumerGroupOperations;
import io.pgbus.listener.DefaultPgListenerContainerRegistry;
import io.pgbus.listener.ListenerDefaults;
import io.pgbus.listener.ListenerInstruments;
import io.pgbus.listener.ListenerMetrics;
import io.pgbus.listener.ListenerRuntime;
import io.pgbus.listener.PgListenerContainerRegistry;
import io.pgbus.listener.PgListenerObservationConvention;
import io.pgbus.listener.RoutingConsumerGroupOperations;
import io.pgbus.listener.TableSubscriptions;
import io.pgbus.store.BusDatabase;
import io.pgbus.store.BusStatus;
import io.pgbus.store.ConsumerStore;
import io.pgbus.store.GroupStore;
import io.pgbus.store.NotificationListener;
import io.pgbus.store.StreamStore;
import jakarta.validation.ConstraintViolationException;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.LazyInitializationExcludeFilter;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.system.ApplicationPid;
import org.springframework.boot.thread.Threading;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.ClassUtils;
import org.springframework.validation.method.MethodValidationException;

/**
 * Auto-configuration of listeners.
 *
 * @since 0.1.0
 */
@AutoConfiguration(after = PgBusAutoConfiguration.class,
		afterName = { "org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
				"org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
				"org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration" })
@ConditionalOnBean(BusDatabase.class)
public final class PgBusListenerAutoConfiguration {

	@Bean
	@ConditionalOnMissingBean
	BusConsumer pgBusConsumer(BusDatabase database, PgBusProperties properties, Environment environment,
			ObjectProvider<NotificationListener> notifications) {
		String name = properties.getConsumer().getName();
		return new BusConsumer(new ConsumerStore(database), (name != null) ? name : nameOf(environment),
				properties.getConsumer().getTimeout(), properties.getListener().getPollInterval(),
				(id) -> notifications.ifAvailable((listener) -> listener.start(id)));
	}

	private static String nameOf(Environment environment) {
		String host;
		try {
			host = InetAddress.getLocalHost().getHostName();
		}
		catch (UnknownHostException ex) {
			host = "unknown-host";
		}
		return environment.getProperty("spring.application.name", "application") + "@" + host + ":"
				+ new ApplicationPid();
	}

	@Bean
	@ConditionalOnMissingBean
	GroupStore pgBusGroupStore(BusDatabase database, StreamStore streams) {
		return new GroupStore(database, streams);
	}

	@Bean
	@ConditionalOnMissingBean
	ConsumerGroupOperations pgBusConsumerGroupOperations(BusDatabase database, GroupStore groups,
			EventConverter converter, PgBusProperties properties, ListenerDefaults defaults,
			ObjectProvider<OwnDatabase> owns) {
		BiFunction<BusDatabase, GroupStore, ConsumerGroupOperations> operations = (log,
				itsGroups) -> new DefaultConsumerGroupOperations(log, itsGroups, converter,
						properties.getConsumer().getPullTimeout(), defaults.batchBytes());
		ConsumerGroupOperations ofBus = operations.apply(database, groups);
		OwnDatabase own = owns.getIfAvailable();
		return (own != null) ? new RoutingConsumerGroupOperations(ofBus, operations.apply(own.database(), own.groups()),
				new BusStatus(own.database())) : ofBus;
	}

	@Bean
	@ConditionalOnMissingBean
	ListenerDefaults pgBusListenerDefaults(PgBusProperties properties, BusTransactions transactions) {
		PgBusListenerProperties.Retry retry = properties.getListener().getRetry();
		return properties.getListener()
			.toDefaults(transactions.deliveryByDefault(),
					new RetryPolicy(retry.getAttempts(), retry.getBackOff(), retry.getMultiplier(),
							retry.getMaxBackOff(), retry.getJitter(), notRetried(),
							properties.getListener().getDeadLetter().getOnDead()));
	}

	/**
	 * Beside what cannot be read: what does not hold for its constraints now or later.
	 */
	private static Set<Class<? extends Throwable>> notRetried() {
		Set<Class<? extends Throwable>> exceptions = new HashSet<>(RetryPolicy.DEFAULT.notRetried());
		exceptions.add(MethodValidationException.class);
		if (ClassUtils.isPresent("jakarta.validation.ConstraintViolationException", null)) {
			exceptions.add(ConstraintViolationException.class);
		}
		return exceptions;
	}

	@Bean
	@ConditionalOnMissingBean
	BusTransactions pgBusTransactions(BusDatabase database, ObjectProvider<OwnDatabase> own,
			ObjectProvider<PlatformTransactionManager> transactionManagers) {
		return BusTransactions.of(database, own.getIfAvailable(), transactionManagers);
	}

	@Bean
	@ConditionalOnMissingBean
	static PgEventListenerAnnotationBeanPostProcessor pgEventListenerAnnotationBeanPostProcessor() {
		return new PgEventListenerAnnotationBeanPostProcessor();
	}

	/** A listener that is made when it is first asked for would listen to nothing. */
	@Bean
	static LazyInitializationExcludeFilter pgEventListenerLazyInitializationExcludeFilter() {
		return (name, definition, type) -> PgEventListenerAnnotationBeanPostProcessor.hasListeners(type)
				|| PgListenerContainerRegistry.class.isAssignableFrom(type);
	}

	@Bean
	@ConditionalOnMissingBean
	ListenerInstruments pgBusListenerInstruments(ObjectProvider<ObservationRegistry> observations,
			ObjectProvider<PgListenerObservationConvention> convention, ObjectProvider<ListenerMetrics> metrics,
			ApplicationEventPublisher events) {
		return new ListenerInstruments(observations.getIfUnique(() -> ObservationRegistry.NOOP),
				convention.getIfAvailable(), metrics.getIfAvailable(() -> ListenerMetrics.NONE), events);
	}

	@Bean
	@ConditionalOnMissingBean
	PgListenerContainerRegistry pgListenerContainerRegistry(BusDatabase database, GroupStore groups,
			EventConverter converter, BusConsumer consumer, BusTransactions transactions, ListenerDefaults defaults,
			ObjectProvider<EventErrorHandler> errorHandler, ObjectProvider<DeadLetterListener> deadLetterListeners,
			ListenerInstruments instruments, ObjectProvider<TableSubscriptions> tables, Environment environment,
			ObjectProvider<OwnDatabase> owns) {
		if (transactions.inbox() != null) {
			consumer.whenBuried(transactions.inbox()::terminate);
		}
		ListenerRuntime runtime = new ListenerRuntime(database, groups, converter, consumer,
				transactions.transactionManager(), transactions.inbox(), errorHandler.getIfAvailable(),
				deadLetterListeners.orderedStream().toList(), Threading.VIRTUAL.isActive(environment), defaults,
				instruments, tables.getIfAvailable());
		OwnDatabase own = owns.getIfAvailable();
		return (own != null)
				? new DefaultPgListenerContainerRegistry(runtime,
						runtime.on(own.database(), own.groups(), own.consumer()))
				: new DefaultPgListenerContainerRegistry(runtime);
	}

}
