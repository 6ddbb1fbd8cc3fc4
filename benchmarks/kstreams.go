package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

//go:embed kstreams
var kstreamsSource embed.FS

// A jvm runs the Kafka Streams side.
type jvm struct {
	java      string
	classpath string
}

// buildKStreams compiles the program in a folder of its own, and fetches what it needs from Maven Central.
func buildKStreams(ctx context.Context, dir string) (*jvm, error) {
	source, err := fs.Sub(kstreamsSource, "kstreams")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, source); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B",
		"compile", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib")
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build the Kafka Streams program: %w\n%s", err, out.Bytes())
	}
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	return &jvm{java: java, classpath: filepath.Join(dir, "target", "classes") + ":" + filepath.Join(dir, "lib", "*")}, nil
}

// cacheMiB is the record cache with which a workload is the cheapest. Keys that seldom recur within a commit interval
// only cost in a cache; for ten thousand keys it saves most of the outputs.
func cacheMiB(w work) int {
	if w.data.Keys > 100_000 {
		return 0
	}
	return 64
}

// command starts a workload. The serial collector took less CPU than the parallel one and G1 in all of them.
func (j *jvm) command(w work, args childArgs) *exec.Cmd {
	return exec.Command(j.java, "-Xms1g", "-Xmx1g", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", j.classpath,
		"weir.KStreams", args.workload, args.brokers, args.in, args.out, args.id, args.dir, strconv.Itoa(cacheMiB(w)))
}
