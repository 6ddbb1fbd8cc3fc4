// Command streamrun runs Weir's example jobs on a broker that it brings along,
// or on Kafka.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // gives a second signal its usual meaning
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitFailed = 1 // something went wrong while running
	exitUsage  = 2 // the command line was wrong
)

// run is main without its process.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	root := &cobra.Command{
		Use:           "streamrun",
		Short:         "Run Weir's example jobs, with real records, on an embedded broker or on Kafka",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	root.AddCommand(devCommand(), versionCommand())
	cmd, err := root.ExecuteContextC(ctx)
	var failed *failure
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		fmt.Fprintf(errOut, "\nerror: %v\n", err)
		return exitFailed
	}
	fmt.Fprintf(errOut, "error: %v\nSee \"%s --help\".\n", err, cmd.CommandPath())
	return exitUsage
}

// A failure is an error of running; others are of the command line.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "streamrun %s, %s, %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}

// version is that of the module, or the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "devel"
}
