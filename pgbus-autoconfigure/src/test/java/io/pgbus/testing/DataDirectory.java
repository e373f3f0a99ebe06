package io.pgbus.testing;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * The files of a server, as they are copied for a base backup. The embedded server has no
 * program for that.
 */
final class DataDirectory {

	/** What PostgreSQL makes anew. */
	private static final Set<String> EMPTY = Set.of("pg_wal", "pg_replslot", "pg_dynshmem", "pg_notify", "pg_serial",
			"pg_snapshots", "pg_stat_tmp", "pg_subtrans");

	private static final Set<String> LEFT_OUT = Set.of("postmaster.pid", "postmaster.opts", "pg_internal.init");

	private DataDirectory() {
	}

	/** Copies the files of a server that runs, where some come and go. */
	static void copy(Path from, Path to) throws IOException {
		Files.walkFileTree(from, new SimpleFileVisitor<>() {

			@Override
			public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
					throws IOException {
				Path copy = to.resolve(from.relativize(directory));
				Files.createDirectory(copy,
						PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
				return EMPTY.contains(copy.getFileName().toString()) ? FileVisitResult.SKIP_SUBTREE
						: FileVisitResult.CONTINUE;
			}

			@Override
			public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
				if (!LEFT_OUT.contains(file.getFileName().toString())) {
					try {
						Files.copy(file, to.resolve(from.relativize(file)));
					}
					catch (NoSuchFileException | FileNotFoundException ex) {
						return FileVisitResult.CONTINUE;
					}
				}
				return FileVisitResult.CONTINUE;
			}

			@Override
			public FileVisitResult visitFileFailed(Path file, IOException ex) {
				return FileVisitResult.CONTINUE;
			}

		});
	}

}
