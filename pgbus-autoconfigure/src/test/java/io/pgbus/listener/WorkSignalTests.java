package io.pgbus.listener;

import io.pgbus.listener.ListenerMetrics.WakeUpCause;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What workers are told.
 */
class WorkSignalTests {

	private final WorkSignal signal = new WorkSignal(2, (cause) -> {
	});

	@Test
	void rowsOfBackfillsAreAskedForOnceEachTimeThatSomebodySaysThereAreSome() {
		assertThat(this.signal.takesBackfill()).isFalse();
		this.signal.backfill(WakeUpCause.POLL);
		assertThat(this.signal.takesBackfill()).isTrue();
		assertThat(this.signal.takesBackfill()).isFalse();
		this.signal.published(WakeUpCause.PUBLISH);
		assertThat(this.signal.takesBackfill()).isFalse();
		this.signal.mayHaveBackfill();
		assertThat(this.signal.takesBackfill()).isTrue();
	}

}
