package io.pgbus.store;

import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

class WakeUpMessageTests {

	@Test
	void textNamesTheSenderAndTheStreams() {
		assertThat(new WakeUpMessage(7, false, Set.of(30, 4)).text()).isEqualTo("7:4,30");
		assertThat(new WakeUpMessage(7, true, Set.of()).text()).isEqualTo("7:*");
	}

	@Test
	void whatWasWrittenIsReadAgain() {
		for (WakeUpMessage message : new WakeUpMessage[] { new WakeUpMessage(7, false, Set.of(1, 2, 3)),
				new WakeUpMessage(7, true, Set.of()), new WakeUpMessage(7, false, Set.of()) }) {
			assertThat(WakeUpMessage.parse(message.text())).isEqualTo(message);
		}
	}

	@Test
	void tooManyStreamsAreAnyStream() {
		Set<Integer> streamIds = IntStream.range(1_000_000, 1_001_000).boxed().collect(Collectors.toSet());
		assertThat(new WakeUpMessage(7, false, streamIds).text()).isEqualTo("7:*");
	}

	@Test
	void whoIsNoConsumerNeedNotNameIt() {
		assertThat(WakeUpMessage.parse(":4")).isEqualTo(new WakeUpMessage(WakeUpMessage.NOBODY, false, Set.of(4)));
		assertThat(WakeUpMessage.parse("4")).isEqualTo(new WakeUpMessage(WakeUpMessage.NOBODY, false, Set.of(4)));
	}

	@ParameterizedTest
	@ValueSource(strings = { "orders", "7:orders", "x:1", "7:1,", "7:*,1", "7:99999999999" })
	void whatCannotBeReadIsAnyStreamFromNobody(String text) {
		assertThat(WakeUpMessage.parse(text)).isEqualTo(new WakeUpMessage(WakeUpMessage.NOBODY, true, Set.of()));
	}

	@Test
	void channelFollowsTheSchemaAndFitsIntoAName() {
		assertThat(WakeUpMessage.channel("pgbus")).isEqualTo("pgbus");
		assertThat(WakeUpMessage.channel("My \"bus\"")).isEqualTo("pgbus:My \"bus\"");
		String one = WakeUpMessage.channel("ä".repeat(30) + "1");
		String other = WakeUpMessage.channel("ä".repeat(30) + "2");
		assertThat(one).isNotEqualTo(other);
		assertThat(one.getBytes(StandardCharsets.UTF_8)).hasSizeLessThanOrEqualTo(63);
	}

}
