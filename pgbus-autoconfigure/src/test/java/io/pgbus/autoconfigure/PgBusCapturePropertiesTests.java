package io.pgbus.autoconfigure;

import io.pgbus.replication.CaptureSettings;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class PgBusCapturePropertiesTests {

	private final PgBusCaptureProperties properties = new PgBusCaptureProperties();

	@Test
	void slotAndPublicationAreCalledAsTheSchema() {
		CaptureSettings settings = this.properties.toSettings("pgbus");
		assertThat(settings).isEqualTo(CaptureSettings.DEFAULTS);
	}

	@Test
	void aSchemaMayHaveANameThatASlotCannotHave() {
		assertThat(this.properties.toSettings("My Büs").slot()).isEqualTo("my_b_s");
		assertThat(this.properties.toSettings("x".repeat(63)).slot()).hasSize(50);
	}

	@Test
	void aSlotCannotHaveAnyName() {
		this.properties.setSlot("My slot");
		assertThatIllegalArgumentException().isThrownBy(() -> this.properties.toSettings("pgbus"))
			.withMessageContaining("pgbus.capture.slot is \"My slot\"");
	}

}
