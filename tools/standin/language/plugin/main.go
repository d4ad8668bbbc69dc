// Command plugin is the stand-in for Pulumi's language host pulumi-language-go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/em-infra/em-infra/tools/standin/language/host"
)

// version is the version of the SDK in the root go.mod, with the v. The linker sets it.
var version string

func main() {
	showVersion := flag.Bool("version", false, "print the version")
	flag.String("tracing", "", "accepted, and not used")
	flag.Parse()
	if *showVersion {
		fmt.Println(version)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// The engine passes its address, and reads the port from the first line.
	err := host.New(flag.Arg(0), version).Serve(ctx, func(port int) { fmt.Println(port) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
