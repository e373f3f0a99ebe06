package io.pgbus.annotation;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import io.pgbus.Acknowledgment;
import org.jspecify.annotations.Nullable;

/**
 * An acknowledgment that completes a stage.
 */
final class ListenerAcknowledgment implements Acknowledgment {

	private final CompletableFuture<@Nullable Void> done = new CompletableFuture<>();

	@Override
	public void acknowledge() {
		this.done.complete(null);
	}

	@Override
	public void fail(Throwable failure) {
		this.done.completeExceptionally(failure);
	}

	CompletionStage<?> stage() {
		return this.done;
	}

}
