package io.pgbus.testing;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * The tests' class path without some of its jars. Unlike a filter of class names it shows
 * what an application without them meets: class files that cannot be linked, resources
 * that are not found, auto-configurations that nobody lists.
 */
public final class ReducedClassPath implements AutoCloseable {

	private final URLClassLoader classLoader;

	private ReducedClassPath(URL[] urls) {
		this.classLoader = new URLClassLoader("reduced class path", urls, ClassLoader.getPlatformClassLoader());
	}

	/**
	 * Makes a class path.
	 * @param jars matches the beginning of the file names of jars to leave out
	 * @return the class path
	 */
	public static ReducedClassPath without(String jars) {
		Predicate<String> isLeftOut = Pattern.compile("(" + jars + ").*\\.jar").asMatchPredicate();
		return new ReducedClassPath(Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
			.map(Path::of)
			.filter((path) -> !isLeftOut.test(path.getFileName().toString()))
			.map(ReducedClassPath::url)
			.toArray(URL[]::new));
	}

	private static URL url(Path path) {
		try {
			return path.toUri().toURL();
		}
		catch (MalformedURLException ex) {
			throw new IllegalArgumentException(path.toString(), ex);
		}
	}

	/**
	 * Tells whether a class is there.
	 * @param name the name of the class
	 * @return whether it is
	 */
	public boolean has(String name) {
		return this.classLoader.getResource(name.replace('.', '/') + ".class") != null;
	}

	/**
	 * Makes an object of a class on this class path, and calls it.
	 * @param type a class with one public constructor, as this class path has it too
	 * @param arguments the constructor's arguments, of classes of the JDK
	 * @return the result, of a class of the JDK
	 * @throws Exception what the call throws, of a class on this class path
	 */
	public Object call(Class<? extends Callable<?>> type, Object... arguments) throws Exception {
		Thread thread = Thread.currentThread();
		ClassLoader before = thread.getContextClassLoader();
		thread.setContextClassLoader(this.classLoader);
		try {
			Class<?> there = this.classLoader.loadClass(type.getName());
			return ((Callable<?>) there.getConstructors()[0].newInstance(arguments)).call();
		}
		finally {
			thread.setContextClassLoader(before);
		}
	}

	@Override
	public void close() throws IOException {
		this.classLoader.close();
	}

}
