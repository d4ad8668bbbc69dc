package e2e_test

import (
	"flag"
	"testing"
)

// everyTest asks for the extended tests, too.
var everyTest = flag.Bool("extended", false, "run all tests: also those that the suite of CI leaves out for their time")

// extended skips a test that the suite of CI leaves out. The suite has a test of each command and of each promise (docs/testing.md); an extended test
// covers another case of one of these.
func extended(t testing.TB) {
	t.Helper()
	if !*everyTest {
		t.Skip("an extended test: go test ./tests/e2e -extended -timeout 5h")
	}
}
