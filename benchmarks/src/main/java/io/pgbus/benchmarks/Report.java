package io.pgbus.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

/**
 * Turns measurements into a table: medians, their ratio, and the spread.
 */
final class Report {

	private final List<Measurement> measurements;

	private final List<String> failures;

	Report(List<Measurement> measurements, List<String> failures) {
		this.measurements = measurements;
		this.failures = failures;
	}

	void writeCsv(Path file) throws IOException {
		List<String> lines = new ArrayList<>();
		lines.add("piece,side,round,metric,unit,value");
		for (Measurement one : this.measurements) {
			lines.add(String.format(Locale.ROOT, "%s,\"%s\",%d,\"%s\",%s,%.4f", one.piece(), one.side(), one.round(),
					one.metric().label(), one.metric().unit(), one.value()));
		}
		Files.write(file, lines);
	}

	String markdown(Server server, Redis redis, String scale, Duration took) throws SQLException, IOException {
		StringBuilder text = new StringBuilder();
		text.append("| | |\n|---|---|\n");
		line(text, "Date", LocalDate.now().toString());
		line(text, "Machine", machine());
		line(text, "JVM", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
		line(text, "PostgreSQL",
				server.show("server_version") + ", "
						+ Server.SETTINGS.entrySet()
							.stream()
							.map((setting) -> setting.getKey() + "=" + setting.getValue())
							.collect(Collectors.joining(", ")));
		line(text, "Redis", redis.version());
		line(text, "Scale", "`" + scale + "`, " + took.toMinutes() + " min " + took.toSecondsPart() + " s in all");
		text.append('\n');
		text.append("| Piece | Figure | pgbus | Beside | its figure | Ratio | Aim | Ahead |\n");
		text.append("|---|---|---|---|---|---|---|---|\n");
		for (Piece piece : Piece.all()) {
			for (Metric metric : Metric.values()) {
				rows(text, piece, metric);
			}
		}
		if (!this.failures.isEmpty()) {
			text.append("\nFailed:\n\n");
			this.failures.forEach((failure) -> text.append("- ").append(failure).append('\n'));
		}
		return text.toString();
	}

	private static void line(StringBuilder text, String name, String value) {
		text.append("| ").append(name).append(" | ").append(value).append(" |\n");
	}

	private void rows(StringBuilder text, Piece piece, Metric metric) {
		String subject = piece.sides().get(0);
		double[] ours = values(piece, subject, metric);
		if (ours.length == 0) {
			return;
		}
		for (String other : piece.sides().subList(1, piece.sides().size())) {
			double[] theirs = values(piece, other, metric);
			if (theirs.length > 0) {
				double ratio = median(ours) / median(theirs);
				Double aim = piece.aim(other, metric);
				text.append(String.format(Locale.ROOT, "| %s: %s | %s, %s | %s | %s | %s | %s | %s | %s |%n",
						piece.id(), piece.title(), metric.label(), metric.unit(), text(ours), other, text(theirs),
						number(ratio), aim(aim, metric, ratio),
						(ratio == 1 || Double.isNaN(ratio)) ? "" : ahead(ratio, metric, subject, other)));
			}
		}
	}

	private static String aim(@Nullable Double aim, Metric metric, double ratio) {
		if (aim == null) {
			return "";
		}
		boolean met = metric.moreIsBetter() ? ratio >= aim : ratio <= aim;
		return (metric.moreIsBetter() ? "≥ " : "≤ ") + number(aim) + (met ? ", met" : ", **not met**");
	}

	private static String ahead(double ratio, Metric metric, String subject, String other) {
		return ((ratio > 1) == metric.moreIsBetter()) ? subject : "**" + other + "**";
	}

	private double[] values(Piece piece, String side, Metric metric) {
		return this.measurements.stream()
			.filter((one) -> one.piece().equals(piece.id()) && one.side().equals(side) && one.metric() == metric)
			.mapToDouble(Measurement::value)
			.sorted()
			.toArray();
	}

	private static double median(double[] sorted) {
		int middle = sorted.length / 2;
		return (sorted.length % 2 == 1) ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
	}

	private static String text(double[] sorted) {
		if (sorted.length == 1) {
			return number(sorted[0]);
		}
		return number(median(sorted)) + " (" + number(sorted[0]) + "..." + number(sorted[sorted.length - 1]) + ")";
	}

	private static String number(double value) {
		return String.format(Locale.ROOT, (value >= 100) ? "%,.0f" : (value >= 10) ? "%.1f" : "%.2f", value);
	}

	private static String machine() throws IOException {
		String processor = System.getProperty("os.arch");
		Path cpuinfo = Path.of("/proc/cpuinfo");
		if (Files.exists(cpuinfo)) {
			try (Stream<String> lines = Files.lines(cpuinfo)) {
				processor = lines.filter((line) -> line.startsWith("model name"))
					.map((line) -> line.substring(line.indexOf(':') + 1).trim())
					.findFirst()
					.orElse(processor);
			}
		}
		return Runtime.getRuntime().availableProcessors() + " cores, " + processor + ", "
				+ System.getProperty("os.name") + " " + System.getProperty("os.version");
	}

}
