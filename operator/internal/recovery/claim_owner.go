package recovery

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/process"
)

// isDead reports whether the run of a claim has certainly ended, by rule: its process is gone from this machine, or a later attempt of the
// same job of a pipeline asks. Nothing else is known of another machine.
func (c Claim) isDead(asking Claim) bool {
	if c.isOfThisMachine() {
		return !c.lives()
	}
	return c.Job != "" && c.Job == asking.Job && c.Attempt < asking.Attempt
}

// isDeadBeside reports whether the run of a claim in a folder of this machine has ended. The name of the machine is enough there: the run has ended
// if the machine was started anew since or, on a system that does not provide its boot, if its process does not run.
func (c Claim) isDeadBeside(asking Claim) bool {
	if c.Hostname != asking.Hostname {
		return false
	}
	if c.Machine == "" && asking.Machine == "" {
		return !c.lives()
	}
	then, _, hasThen := strings.Cut(c.Machine, " ")
	now, _, hasNow := strings.Cut(asking.Machine, " ")
	return hasThen && hasNow && then != now
}

// isSeen reports whether the process of a claim runs on this machine. On a system that does not provide its boot, the name of the machine is enough
// for a folder on it.
func (c Claim) isSeen(asking Claim, inBucket bool) bool {
	isBeside := !inBucket && c.Machine == "" && asking.Machine == "" && c.Hostname == asking.Hostname
	return (c.isOfThisMachine() || isBeside) && c.lives()
}

// isOfThisMachine reports whether process numbers of the claim are those that this process sees.
func (c Claim) isOfThisMachine() bool { return c.Machine != "" && c.Machine == machineOf() }

// lives reports whether the process of the claim runs on this machine.
func (c Claim) lives() bool {
	running, err := process.Find(c.PID)
	return err == nil && !running.Dead && begun(c.PID) == c.Begun
}

// procFS is the folder in which Linux describes itself and its processes.
const procFS = "/proc"

// machineOf returns what identifies the processes of this system: the boot and the namespace of process numbers; empty without Linux's /proc.
func machineOf() string {
	boot, err := os.ReadFile(filepath.Join(procFS, "sys/kernel/random/boot_id"))
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink(filepath.Join(procFS, "self/ns/pid"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
}

// startField is the place of a process's start in its stat, after its name (proc_pid_stat(5), field 22).
const startField = 22 - 3

// begun returns when a process began, in ticks since the boot; empty if it is not known.
func begun(pid int) string {
	text, err := os.ReadFile(filepath.Join(procFS, strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) <= startField {
		return ""
	}
	return fields[startField]
}

// pipelineRun returns the run of a pipeline in whose environment this process is: its URL, what identifies its job, and the attempt. All are
// empty outside (GitHub and Forgejo, Default environment variables; GitLab, Predefined CI/CD variables).
func pipelineRun(env func(string) string) (run, job string, attempt int) {
	number := func(name string) int {
		n, err := strconv.Atoi(env(name))
		if err != nil {
			return 0
		}
		return n
	}
	switch {
	case env("GITHUB_RUN_ID") != "":
		repository := env("GITHUB_SERVER_URL") + "/" + env("GITHUB_REPOSITORY")
		id := env("GITHUB_RUN_ID")
		if env("FORGEJO_ACTIONS") != "" || env("GITEA_ACTIONS") != "" { // their pages have the number of the run, and GitHub's its ID
			id = cmp.Or(env("GITHUB_RUN_NUMBER"), id)
		}
		run = fmt.Sprintf("%s/actions/runs/%s", repository, id)
		return run, run + " " + env("GITHUB_JOB"), number("GITHUB_RUN_ATTEMPT")
	case env("CI_JOB_URL") != "":
		return env("CI_JOB_URL"), fmt.Sprintf("%s %s %s", env("CI_PROJECT_URL"), env("CI_PIPELINE_ID"), env("CI_JOB_NAME")), number("CI_JOB_ID")
	}
	return "", "", 0
}
