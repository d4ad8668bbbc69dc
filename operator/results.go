package operator

import (
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/cause"
	"github.com/em-infra/em-infra/operator/internal/explain"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/progress"
	"github.com/em-infra/em-infra/operator/internal/rehearsal"
	"github.com/em-infra/em-infra/operator/internal/retention"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// This file names what results and events are made of. What is shown as a whole writes itself for a person
// with WriteText, and is the same for a program as JSON.

// What a host was found to bear.
type (
	// Checks are those of a preflight, in their order.
	Checks = preflight.Report
	// CheckResult is how one of them came out.
	CheckResult = preflight.Result
)

// How a check comes out.
const (
	CheckOK      = preflight.OK
	CheckWarning = preflight.Warn
	CheckFailure = preflight.Fail
)

// What is going to happen, and what of it is allowed.
type (
	// Assessment is what a preview means for nodes, quorum and data.
	Assessment = risk.Assessment
	// Finding is one thing of it that would change.
	Finding = risk.Finding
	// Permission is something dangerous that is allowed by its name: one of the flags, and what it is for.
	Permission = risk.Permission
	// Phase is a part of the life of a cluster.
	Phase = phase.Phase
)

// The flags of permissions, and the subject of FlagChange; the other subjects are names of nodes, and FlagQuorumLoss has none.
const (
	FlagReplace    = risk.FlagReplace
	FlagDelete     = risk.FlagDelete
	FlagChange     = risk.FlagChange
	FlagQuorumLoss = risk.FlagQuorumLoss
	SubjectSecrets = risk.SubjectSecrets
)

// What goes on, and what went wrong.
type (
	// Wait is what an operation waits for, and the command that ends the wait.
	Wait = progress.Wait
	// Task of the host.
	Task = pve.Task
	// Cause is something that went wrong by itself: what is known about it, and what failed with it.
	Cause = cause.Cause
	// Failure is what the engine reported of it.
	Failure = progress.Failure
	// Explanation is what is known about an error.
	Explanation = explain.Explanation
	// Guess is what can be said of an error that is not known.
	Guess = explain.Guess
)

// What stands.
type (
	// StatusReport is what the state, the host and the nodes say, side by side.
	StatusReport = status.Report
	// MachineStatus is what they say of one machine.
	MachineStatus = status.Machine
	// RehearsalReport is how each part of the life of a cluster went.
	RehearsalReport = rehearsal.Report
	// RehearsedStep is one part of it.
	RehearsedStep = rehearsal.Step
)

// Copies of the state.
type (
	// Backup is a copy of the state.
	Backup = backup.Backup
	// Difference is what the state would forget, and what it would remember, with a backup in its place.
	Difference = backup.Difference
)

// DefaultKeep is how many artifacts of each operation, and backups of each kind, stay where [Options.Keep] does not say.
const DefaultKeep = retention.Default

// Explain is what is known about the errors in a text, such as the output of a run, in its order; none where nothing is known for
// certain.
func Explain(text string) []Explanation { return explain.Text(text) }

// GuessAt is what can be said of a text of which [Explain] knows nothing: the known error that is nearest, and where to look.
func GuessAt(text string) Guess { return explain.GuessAt(text) }
