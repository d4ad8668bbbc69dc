package toolchain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/process"
)

// The limits for official servers are short, so that a machine without internet waits for seconds only.
const (
	probeTimeout   = 5 * time.Second
	installTimeout = 3 * time.Minute
)

// reachable returns the plugins whose official server answers, and records the reason for the others.
func (in *installer) reachable(ctx context.Context, missing []*wanted) []*wanted {
	plugins := only(missing, Plugin)
	var hosts []string
	for _, w := range plugins {
		hosts = append(hosts, w.host())
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)

	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	problems := make([]error, len(hosts))
	var probes sync.WaitGroup
	for i, host := range hosts {
		probes.Go(func() { problems[i] = in.seams.probe(ctx, host) })
	}
	probes.Wait()

	var lost []string
	for i, host := range hosts {
		if problems[i] != nil {
			lost = append(lost, fmt.Sprintf("%s (%v)", host, problems[i]))
		}
	}
	if len(lost) > 0 {
		in.progress.line("official plugins cannot be had from %s", strings.Join(lost, ", "))
	}
	return slices.DeleteFunc(plugins, func(w *wanted) bool {
		at, _ := slices.BinarySearch(hosts, w.host())
		if problems[at] != nil {
			w.reason = fmt.Sprintf("%s cannot be reached: %v", w.host(), problems[at])
		}
		return problems[at] != nil
	})
}

// host returns the server of the official plugin. A plugin without a server of its own is on Pulumi's server (getSource in
// workspace/plugins.go of the SDK).
func (s spec) host() string {
	if server, err := url.Parse(s.server); err == nil && server.Host != "" {
		return server.Host
	}
	return "get.pulumi.com"
}

// probe returns an error unless a host answers. It uses the proxy that the environment names.
func probe(ctx context.Context, host string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+host, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			return failed.Err // without the method and address, which the message does not need
		}
		return err
	}
	return response.Body.Close()
}

// installOfficial runs pulumi to install the plugins. If that fails for a plugin, it records the reason; the plugin is built later.
func (in *installer) installOfficial(ctx context.Context, plugins []*wanted) error {
	cli, ok := in.cliForInstalls(ctx)
	for i, w := range plugins {
		if !ok {
			w.reason = "there is no pulumi to install it with"
			continue
		}
		err := in.installOne(ctx, cli, w, fmt.Sprintf("(%d of %d)", i+1, len(plugins)))
		if ctx.Err() != nil {
			return fmt.Errorf("install %s: %w", w.name, context.Cause(ctx))
		}
		if err != nil {
			w.reason = err.Error()
			in.progress.line("the official %s %s cannot be had: %v", w.name, w.version, err)
		}
	}
	return nil
}

func (in *installer) installOne(ctx context.Context, cli string, w *wanted, count string) error {
	return in.exclusively(ctx, w, w.officialKey(), func(partial, dir string) error {
		step := in.progress.step(fmt.Sprintf("installing %s %s %s", w.name, w.version, count))
		if err := in.pluginInstall(ctx, cli, w, partial); err != nil {
			step.fail()
			return err
		}
		if err := seal(partial, dir, w.executable(), manifest{Origin: Official}); err != nil {
			step.fail()
			return err
		}
		step.done(fmt.Sprintf("%s %s: installed %s", w.name, w.version, count))
		return nil
	})
}

// pluginInstall runs pulumi to install a plugin into a separate home, and moves it to partial/bin.
func (in *installer) pluginInstall(ctx context.Context, cli string, w *wanted, partial string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, installTimeout,
		fmt.Errorf("pulumi plugin install took longer than %s", installTimeout))
	defer cancel()
	home := filepath.Join(partial, "home")
	args := []string{"plugin", "install", "resource", w.name, w.version, "--non-interactive"}
	if w.server != "" {
		args = append(args, "--server", w.server)
	}
	cmd := process.KillTreeOnCancel(exec.CommandContext(ctx, cli, args...))
	cmd.Env = append(in.seams.environ(), "PULUMI_HOME="+home, "PULUMI_SKIP_UPDATE_CHECK=true")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("pulumi plugin install: %w: %s", err, lines[len(lines)-1])
	}
	bin := filepath.Join(partial, "bin")
	if err := os.Remove(bin); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(home, "plugins", "resource-"+w.name+"-"+w.version), bin); err != nil {
		return err
	}
	return os.RemoveAll(home)
}
