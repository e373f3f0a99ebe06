package io.pgbus.store;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.springframework.util.DigestUtils;

/**
 * What instances notify each other of, and on which channel. As text, a message is the id
 * of the consumer that sends it, a colon, and the ids of streams separated by commas, or
 * <code>*</code> for any stream. Who is no consumer leaves the first part away.
 *
 * @param sender the consumer that sends it, or {@value #NOBODY}
 * @param any whether any stream may have new events
 * @param streamIds the streams that have new events
 */
record WakeUpMessage(int sender, boolean any, Set<Integer> streamIds) {

	/** Consumers are numbered from 1. */
	static final int NOBODY = 0;

	/** PostgreSQL takes less than 8,000 bytes. */
	private static final int MAX_LENGTH = 7900;

	private static final int MAX_CHANNEL_LENGTH = 63;

	private static final String CHANNEL = "pgbus";

	/**
	 * Returns the channel of a bus. Every channel of a database is seen by all of its
	 * sessions, so buses in other schemas have other channels.
	 * @param schema the name of the bus's schema
	 * @return the name of the channel: <code>pgbus</code>, or <code>pgbus:schema</code>
	 * where the schema has another name, with the MD5 of that where it is too long
	 */
	static String channel(String schema) {
		if (schema.equals(CHANNEL)) {
			return CHANNEL;
		}
		byte[] bytes = schema.getBytes(StandardCharsets.UTF_8);
		boolean fits = CHANNEL.length() + 1 + bytes.length <= MAX_CHANNEL_LENGTH;
		return CHANNEL + ":" + (fits ? schema : DigestUtils.md5DigestAsHex(bytes));
	}

	/**
	 * Reads a message. What is no message may stand for any stream: a needless look costs
	 * less than an event that waits.
	 * @param text the text
	 * @return the message
	 */
	static WakeUpMessage parse(String text) {
		int colon = text.indexOf(':');
		try {
			int sender = (colon > 0) ? Integer.parseInt(text.substring(0, colon)) : NOBODY;
			String streams = text.substring(colon + 1);
			if (streams.equals("*")) {
				return new WakeUpMessage(sender, true, Set.of());
			}
			Set<Integer> streamIds = new HashSet<>();
			for (String streamId : streams.isEmpty() ? new String[0] : streams.split(",", -1)) {
				streamIds.add(Integer.valueOf(streamId));
			}
			return new WakeUpMessage(sender, false, streamIds);
		}
		catch (NumberFormatException ex) {
			return new WakeUpMessage(NOBODY, true, Set.of());
		}
	}

	/**
	 * Writes the message.
	 * @return the text, which stands for any stream if the streams were too many
	 */
	String text() {
		String prefix = this.sender + ":";
		if (!this.any) {
			String text = new TreeSet<>(this.streamIds).stream()
				.map(String::valueOf)
				.collect(Collectors.joining(",", prefix, ""));
			if (text.length() <= MAX_LENGTH) {
				return text;
			}
		}
		return prefix + "*";
	}

}
