package io.pgbus.store;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * A row of a change, new or old, on its way from text to JSON.
 */
final class RowImage {

	private final List<@Nullable String> values;

	private final Set<Integer> missing;

	/** By filter: {@code null} for one that has not been asked. */
	private final Map<String, Answer> answers = new HashMap<>(4);

	private final Map<Integer, String> keyParts = new HashMap<>(4);

	private @Nullable String json;

	/**
	 * Creates the image.
	 * @param values the values as text
	 * @param missing the indexes of columns that have no value
	 */
	RowImage(List<@Nullable String> values, Set<Integer> missing) {
		this.values = new ArrayList<>(values);
		this.missing = new HashSet<>(missing);
	}

	@Nullable String value(int column) {
		return this.values.get(column);
	}

	Set<Integer> missing() {
		return this.missing;
	}

	void miss(int column) {
		this.missing.add(column);
	}

	void found(int column, String value) {
		this.values.set(column, value);
		this.missing.remove(column);
	}

	/** The column whose value has most characters, or -1 if there is no value. */
	int largest() {
		int largest = -1;
		int length = -1;
		for (int i = 0; i < this.values.size(); i++) {
			String value = this.values.get(i);
			if (!this.missing.contains(i) && value != null && value.length() > length) {
				largest = i;
				length = value.length();
			}
		}
		return largest;
	}

	@Nullable String json() {
		return this.json;
	}

	void json(@Nullable String json) {
		this.json = json;
	}

	@Nullable String keyPart(int column) {
		return this.keyParts.get(column);
	}

	void keyPart(int column, @Nullable String part) {
		if (part != null) {
			this.keyParts.put(column, part);
		}
	}

	void answer(String filter, Answer answer) {
		this.answers.put(filter, answer);
	}

	/**
	 * Returns what a filter says.
	 * @param filter the filter, which was asked, or {@code null} for none
	 * @return the answer
	 */
	Answer answer(@Nullable String filter) {
		return (filter != null) ? this.answers.getOrDefault(filter, Answer.NO) : Answer.YES;
	}

	/**
	 * What a filter says about a row.
	 *
	 * @param matches whether it matches
	 * @param error why it could not say, or {@code null}
	 */
	record Answer(boolean matches, @Nullable String error) {

		static final Answer YES = new Answer(true, null);

		static final Answer NO = new Answer(false, null);

	}

}
