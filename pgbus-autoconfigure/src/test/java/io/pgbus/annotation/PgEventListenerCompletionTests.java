package io.pgbus.annotation;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import io.pgbus.Acknowledgment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class PgEventListenerCompletionTests {

	private ListenerContext context;

	private Listeners listeners;

	@BeforeEach
	void open() {
		this.context = ListenerContext.of(Listeners.class);
		this.listeners = this.context.bean(Listeners.class);
	}

	@AfterEach
	void close() {
		this.context.close();
	}

	@Test
	void isDoneWhenAPlainMethodReturns() throws Exception {
		assertThat(deliver("plain")).isNull();
		assertThat(this.context.registry().endpoint("plain").asynchronous()).isFalse();
	}

	@Test
	void isDoneWhenTheStageOfTheMethodIs() throws Exception {
		CompletionStage<?> stage = deliver("stage");
		assertThat(this.context.registry().endpoint("stage").asynchronous()).isTrue();
		assertThat(stage.toCompletableFuture()).isNotDone();
		this.listeners.future.complete("result");
		assertThat(stage.toCompletableFuture()).isCompleted();
	}

	@Test
	void isDoneAtOnceWhenThereIsNoStage() throws Exception {
		this.listeners.future = null;
		assertThat(deliver("stage")).isNull();
	}

	@Test
	void isDoneWhenItIsAcknowledged() throws Exception {
		CompletionStage<?> stage = deliver("acknowledged");
		assertThat(this.context.registry().endpoint("acknowledged").asynchronous()).isTrue();
		assertThat(stage.toCompletableFuture()).isNotDone();
		this.listeners.acknowledgment.acknowledge();
		this.listeners.acknowledgment.fail(new IllegalStateException("too late"));
		assertThat(stage.toCompletableFuture()).isCompleted();
	}

	@Test
	void hasFailedWhenTheAcknowledgmentSaysSo() throws Exception {
		CompletionStage<?> stage = deliver("acknowledged");
		this.listeners.acknowledgment.fail(new IllegalStateException("no"));
		assertThat(stage.toCompletableFuture()).isCompletedExceptionally();
	}

	@Test
	void givesAWholeBatchOneAcknowledgment() throws Exception {
		CompletionStage<?> stage = this.context.registry().deliver("acknowledged-batch", "x", "1", "2");
		this.listeners.acknowledgment.acknowledge();
		assertThat(stage.toCompletableFuture()).isCompleted();
	}

	@Test
	void throwsWhatTheMethodThrows() {
		assertThatExceptionOfType(IOException.class).isThrownBy(() -> deliver("checked")).withMessage("checked");
		assertThatExceptionOfType(AssertionError.class).isThrownBy(() -> deliver("error")).withMessage("error");
	}

	private CompletionStage<?> deliver(String id) throws Exception {
		return this.context.registry().deliver(id, "x", "\"a\"");
	}

	static class Listeners {

		CompletableFuture<Object> future = new CompletableFuture<>();

		Acknowledgment acknowledgment;

		@PgEventListener(streams = "orders", group = "plain")
		void plain(String payload) {
		}

		@PgEventListener(streams = "orders", group = "stage", delivery = "at-least-once")
		CompletionStage<?> stage(String payload) {
			return this.future;
		}

		@PgEventListener(streams = "orders", group = "acknowledged", delivery = "at-least-once")
		void acknowledged(String payload, Acknowledgment acknowledgment) {
			this.acknowledgment = acknowledgment;
		}

		@PgEventListener(streams = "orders", group = "acknowledged-batch", delivery = "at-least-once", batch = "true")
		void acknowledgedBatch(List<String> payloads, Acknowledgment acknowledgment) {
			this.acknowledgment = acknowledgment;
		}

		@PgEventListener(streams = "orders", group = "checked")
		void checked(String payload) throws IOException {
			throw new IOException("checked");
		}

		@PgEventListener(streams = "orders", group = "error")
		void error(String payload) {
			throw new AssertionError("error");
		}

	}

}
