package io.pgbus.autoconfigure;

import io.pgbus.replication.CaptureSettings;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class PgBusCapturePropertiesTests {

	private final PgBusCaptureProperties properties = new PgBusCaptureProperties();

	@Test
	void slotAndPublicationAreCalledAsTheSchema() {
		CaptureSettings settings = this.properties.toSettings("pgbus", "pgbus");
		assertThat(settings).isEqualTo(CaptureSettings.DEFAULTS);
	}

	@Test
	void aSchemaMayHaveANameThatASlotCannotHave() {
		assertThat(this.properties.toSettings("pgbus", "My Büs").slot()).isEqualTo("my_b_s");
		assertThat(this.properties.toSettings("pgbus", "x".repeat(63)).slot()).hasSize(50);
	}

	@Test
	void aPublicationIsCalledAsTheSchemaWhateverTheSlotIs() {
		assertThat(this.properties.toSettings("pgbus_outbox", "pgbus_outbox_shop"))
			.extracting(CaptureSettings::publication, CaptureSettings::slot)
			.containsExactly("pgbus_outbox", "pgbus_outbox_shop");
	}

	@Test
	void aSlotCannotHaveAnyName() {
		this.properties.setSlot("My slot");
		assertThatIllegalArgumentException().isThrownBy(() -> this.properties.toSettings("pgbus", "pgbus"))
			.withMessageContaining("pgbus.capture.slot is \"My slot\"");
	}

}
