package io.pgbus.autoconfigure;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;

import io.pgbus.listener.InstanceProcess;
import io.pgbus.testing.TestDatabase;

import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * An application in a process of its own that keeps the copy of {@link CopyModel}. Ends
 * with its standard input.
 */
final class CopyingMain {

	private CopyingMain() {
	}

	static InstanceProcess start(TestDatabase database, String... properties) {
		return InstanceProcess.start(CopyingMain.class, database, List.of("-Xmx160m", "-XX:+ExitOnOutOfMemoryError"),
				properties);
	}

	public static void main(String[] args) throws IOException {
		String[] properties = Arrays.stream(args)
			.map((arg) -> "--" + (arg.startsWith("pgbus.") ? "" : "spring.datasource.") + arg)
			.toArray(String[]::new);
		try (ConfigurableApplicationContext context = new SpringApplicationBuilder(CapturingMain.Infrastructure.class)
			.web(WebApplicationType.NONE)
			.bannerMode(Banner.Mode.OFF)
			.run(properties)) {
			CopyModel.listen(context);
			// until the test closes it, or is gone
			System.in.transferTo(OutputStream.nullOutputStream());
		}
		System.exit(0);
	}

}
