package io.pgbus.autoconfigure;

import java.time.Duration;

import io.pgbus.store.RetentionSettings;

/**
 * How long events are kept is said for each stream; this is how the log is looked after.
 *
 * @since 0.1.0
 */
public class PgBusRetentionProperties {

	/**
	 * Whether this instance may make the segments of the log and drop those whose events
	 * are not to be kept any longer. One of those that may does.
	 */
	private boolean enabled = true;

	/**
	 * Time between two looks at the log.
	 */
	private Duration interval = RetentionSettings.DEFAULTS.interval();

	/**
	 * Number of ids after which the next segment of the log begins. At most 500000000.
	 */
	private long segmentEvents = RetentionSettings.DEFAULTS.segmentEvents();

	/**
	 * Time after which the next segment of the log begins, where a stream does not keep
	 * its events for ever. Events may be kept for this much longer than their stream
	 * says.
	 */
	private Duration segmentDuration = RetentionSettings.DEFAULTS.segmentDuration();

	/**
	 * Whether events that are kept for a time go when it is over also where a group has
	 * not read them.
	 */
	private boolean dropUnread = RetentionSettings.DEFAULTS.dropUnread();

	/**
	 * Time after which a group that has no listener any more, and does not read, is taken
	 * for abandoned.
	 */
	private Duration abandonedAfter = RetentionSettings.DEFAULTS.abandonedAfter();

	/**
	 * Whether events go also where only abandoned groups have not read them.
	 */
	private boolean dropAbandoned = RetentionSettings.DEFAULTS.dropAbandoned();

	public boolean isEnabled() {
		return this.enabled;
	}

	public void setEnabled(boolean enabled) {
		this.enabled = enabled;
	}

	public Duration getInterval() {
		return this.interval;
	}

	public void setInterval(Duration interval) {
		this.interval = interval;
	}

	public long getSegmentEvents() {
		return this.segmentEvents;
	}

	public void setSegmentEvents(long segmentEvents) {
		this.segmentEvents = segmentEvents;
	}

	public Duration getSegmentDuration() {
		return this.segmentDuration;
	}

	public void setSegmentDuration(Duration segmentDuration) {
		this.segmentDuration = segmentDuration;
	}

	public boolean isDropUnread() {
		return this.dropUnread;
	}

	public void setDropUnread(boolean dropUnread) {
		this.dropUnread = dropUnread;
	}

	public Duration getAbandonedAfter() {
		return this.abandonedAfter;
	}

	public void setAbandonedAfter(Duration abandonedAfter) {
		this.abandonedAfter = abandonedAfter;
	}

	public boolean isDropAbandoned() {
		return this.dropAbandoned;
	}

	public void setDropAbandoned(boolean dropAbandoned) {
		this.dropAbandoned = dropAbandoned;
	}

	RetentionSettings toSettings() {
		return new RetentionSettings(this.interval, this.segmentEvents, this.segmentDuration, this.dropUnread,
				this.abandonedAfter, this.dropAbandoned);
	}

}
