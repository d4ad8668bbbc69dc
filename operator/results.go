package operator

import (
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/retention"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/cause"
	"github.com/em-infra/em-infra/operator/internal/explain"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/progress"
	"github.com/em-infra/em-infra/operator/internal/rehearsal"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// This file names the types of results and events. Reports are written as text by WriteText, and as JSON.

// Results of the preflight.
type (
	// Checks are the checks of a preflight, in order.
	Checks = preflight.Report
	// CheckResult is the result of one check.
	CheckResult = preflight.Result
)

// The results of a check.
const (
	CheckOK      = preflight.OK
	CheckWarning = preflight.Warn
	CheckFailure = preflight.Fail
)

// Assessments and permissions.
type (
	// Assessment is what a preview means for nodes, quorum and data.
	Assessment = risk.Assessment
	// Finding is one risk or change of an assessment.
	Finding = risk.Finding
	// Permission allows one risk: a flag and its subject.
	Permission = risk.Permission
	// Phase is a phase of up.
	Phase = phase.Phase
)

// The flags of permissions, and the subject of FlagChange. The other subjects are names of nodes; FlagVersionSkip has none.
const (
	FlagReplace     = risk.FlagReplace
	FlagDelete      = risk.FlagDelete
	FlagChange      = risk.FlagChange
	FlagVersionSkip = risk.FlagVersionSkip
	SubjectSecrets  = risk.SubjectSecrets
)

// Progress and failures.
type (
	// Wait is what an operation waits for, and the command that ends the wait.
	Wait = progress.Wait
	// Task is a task of the host.
	Task = pve.Task
	// Cause is a root cause: what is known about it, and what failed because of it.
	Cause = cause.Cause
	// Failure is an error that the engine reported.
	Failure = progress.Failure
	// Explanation is what is known about an error.
	Explanation = explain.Explanation
	// Guess is the nearest known error to an unknown one.
	Guess = explain.Guess
)

// Reports.
type (
	// StatusReport combines what the state, the host and the nodes report.
	StatusReport = status.Report
	// MachineStatus is the status of one machine.
	MachineStatus = status.Machine
	// RehearsalReport is the result of each step of a rehearsal.
	RehearsalReport = rehearsal.Report
	// RehearsedStep is one step of a rehearsal.
	RehearsedStep = rehearsal.Step
)

// Backups of the state.
type (
	// Backup is a copy of the state.
	Backup = backup.Backup
	// KeptBackup is a backup that was made, and where it is.
	KeptBackup = backup.Kept
	// BackupCopy is a backup, and whether it is on this machine and in the bucket with the state.
	BackupCopy = backup.Copied
	// Difference is what the state would lose and gain if a backup replaced it.
	Difference = backup.Difference
)

// DefaultKeep is the number of artifacts of each operation, and of backups of each kind, that are kept by default.
const DefaultKeep = retention.Default

// Explain returns explanations of the known errors in a text, such as the output of a run, in their order; nil if it knows none of
// them.
func Explain(text string) []Explanation { return explain.Text(text) }

// GuessAt returns the known error that is nearest to a text for which [Explain] returns nothing, and where to look.
func GuessAt(text string) Guess { return explain.GuessAt(text) }
