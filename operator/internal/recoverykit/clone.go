package recoverykit

import (
	"context"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
)

// CloneOf returns where the clone in a folder came from, and what is checked out. Each is empty if git does not report it, as in a folder that is
// no clone; a kit is made nevertheless.
func CloneOf(ctx context.Context, folder string) (repository, commit string) {
	outputOf := func(args ...string) string {
		text, err := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	return published(outputOf("config", "--get", "remote.origin.url")), outputOf("rev-parse", "HEAD")
}

// atHost is the form user@host:path of a repository.
var atHost = regexp.MustCompile(`^[\w.-]+@[\w.-]+:[^/\\]`)

// published returns the URL of a repository as another person may read it: without user and password. It is empty for one in a folder of this
// machine.
func published(repository string) string {
	if atHost.MatchString(repository) {
		return repository
	}
	at, err := url.Parse(repository)
	if err != nil || at.Host == "" {
		return ""
	}
	user := at.User
	at.User = nil
	if at.Scheme == "ssh" && user != nil { // it is that of the host, and the URL does not work without it
		at.User = url.User(user.Username())
	}
	at.RawQuery, at.Fragment = "", ""
	return at.String()
}
