package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// ownVersion returns the build of the program: its version, which Go takes from the tag or the commit, the release of Go and
// the system. A build without a checkout's history, as by `go run`, has no version.
func ownVersion() string {
	version := "unversioned"
	if info, known := debug.ReadBuildInfo(); known && info.Main.Version != "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	return fmt.Sprintf("%s (%s %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
