package io.pgbus.listener;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import io.pgbus.store.Claim;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class CursorBackOffTests {

	private static final Claim CLAIM = new Claim(7, 1, "orders", 1, 0, 0, 0, 0, 0, "", true, false, null, List.of(),
			List.of());

	private final AtomicInteger changes = new AtomicInteger();

	private final CursorBackOff backOff = new CursorBackOff("bill", (failure) -> this.changes.incrementAndGet());

	@Test
	void aCursorIsLeftAloneUntilItGoesWell() {
		this.backOff.failed(CLAIM, new IllegalStateException());
		assertThat(this.backOff.pausing()).containsExactly(7);
		assertThat(this.backOff.isActive()).isTrue();
		this.backOff.succeeded(CLAIM);
		assertThat(this.backOff.isActive()).isFalse();
		assertThat(this.changes).hasValue(2);
	}

	@Test
	void aCursorThatAnotherInstanceHasGoneOnWithIsForgotten() {
		this.backOff.failed(CLAIM, new IllegalStateException());
		this.backOff.foundNothingBut(List.of(7));
		assertThat(this.backOff.isActive()).isTrue();
		this.backOff.foundNothingBut(List.of());
		assertThat(this.backOff.isActive()).isFalse();
		assertThat(this.changes).hasValue(2);
	}

	@Test
	void aCursorThatIsBeingTriedIsNotForgotten() {
		this.backOff.failed(CLAIM, new IllegalStateException());
		this.backOff.trying(CLAIM);
		this.backOff.foundNothingBut(List.of());
		assertThat(this.backOff.isActive()).isTrue();
		this.backOff.failed(CLAIM, new IllegalStateException());
		this.backOff.foundNothingBut(List.of());
		assertThat(this.backOff.isActive()).isFalse();
	}

}
