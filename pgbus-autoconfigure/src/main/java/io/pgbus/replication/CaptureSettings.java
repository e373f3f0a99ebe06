package io.pgbus.replication;

import java.time.Duration;
import java.util.regex.Pattern;

/**
 * How changes are captured.
 *
 * @param slot the name of the replication slot; a server has one of a name for all of its
 * databases
 * @param publication the name of the publication; with {@code _insert} behind it, it is
 * the name of the one for tables whose updates cannot be published
 * @param failover whether a new slot is to be kept in sync on standbys, from PostgreSQL
 * 17 on
 * @param onGap what to do when changes were missed
 * @param batchRows how many changes are appended in a transaction at most
 * @param batchBytes how many bytes they have in the stream at most, unless one has more
 * @param statusInterval how often the server is told how far the capture is; must be well
 * below the server's {@code wal_sender_timeout}
 * @param heartbeatInterval how often an idle stream is looked after, so that it does not
 * retain what others write
 * @param standbyInterval how often an instance that stands by tries to take over
 * @since 0.1.0
 */
public record CaptureSettings(String slot, String publication, boolean failover, GapPolicy onGap, int batchRows,
		int batchBytes, Duration statusInterval, Duration heartbeatInterval, Duration standbyInterval) {

	private static final Pattern SLOT = Pattern.compile("[a-z0-9_]{1,63}");

	/** The settings by default. */
	public static final CaptureSettings DEFAULTS = new CaptureSettings("pgbus", "pgbus", false, GapPolicy.STOP, 2000,
			4 * 1024 * 1024, Duration.ofSeconds(1), Duration.ofSeconds(10), Duration.ofSeconds(3));

	/**
	 * Checks the settings.
	 * @throws IllegalArgumentException if one cannot be, with the property that sets it
	 */
	public CaptureSettings {
		if (!SLOT.matcher(slot).matches()) {
			throw new IllegalArgumentException("pgbus.capture.slot is \"" + slot
					+ "\", but a slot's name has 1 to 63 lower-case letters, digits and underscores.");
		}
		PublicationNames.of(publication);
		checkPositive("batch-rows", batchRows);
		checkPositive("batch-bytes", batchBytes);
		checkPositive("status-interval", statusInterval.toMillis());
		checkPositive("heartbeat-interval", heartbeatInterval.toMillis());
		checkPositive("standby-interval", standbyInterval.toMillis());
	}

	private static void checkPositive(String name, long value) {
		if (value <= 0) {
			throw new IllegalArgumentException("pgbus.capture." + name + " must be more than 0.");
		}
	}

	PublicationNames publications() {
		return PublicationNames.of(this.publication);
	}

}
