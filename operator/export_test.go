package operator

import (
	"context"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/etcdrestore"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/progress"
	"github.com/em-infra/em-infra/operator/internal/span"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
	"github.com/em-infra/em-infra/operator/internal/status"
	"github.com/em-infra/em-infra/stacks"
)

// The order of the steps of each run, for tests that implement its parts, and what is passed from step to step.
type (
	UpRun       = upRun
	PreviewRun  = previewRun
	DestroyRun  = destroyRun
	DriftRun    = driftRun
	SiteRun     = siteRun
	Work        = work
	Judgement   = judgement
	OutOfBand   = outOfBand
	Possessions = possessions
)

// The names of operations in their errors.
const (
	OpUp      = opUp
	OpDestroy = opDestroy
	OpPreview = opPreview
	OpAdopt   = opAdopt
)

// Span returns the phases and nodes that the options choose.
func (o UpOptions) Span() (span.Span, error) { return o.span() }

// The pure parts.
var (
	CheckNAS             = checkNAS
	ChosenNodes          = chosenNodes
	CompareVersions      = clusterVersions
	FormerStorage        = formerStorage
	HasChanges           = hasChanges
	HealthsIn            = healthsIn
	JudgeVersions        = judgeVersions
	LeaveOut             = leaveOut
	PluginsOfOtherBuilds = otherPlugins
	PicturedHosts        = picturedHosts
	PicturedNAS          = picturedNAS
	PicturedNode         = picturedNode
	PicturedSystems      = picturedSystems
	RelaxCollector       = relaxCollector
	ParallelFor          = parallelFor
	SentenceOf           = sentenceOf
	WithBeside           = withBeside
	StoragePlace         = storagePlace
	Untouched            = untouched
	Upgrades             = upgrades
)

// Running is what nodes run.
type Running = running

// OtherRelease returns the update of a membership whose image is what the node runs; empty if it runs the recorded one.
func OtherRelease(member state.Membership, seen nodeops.Observation) string {
	for _, changed := range otherRelease(member, seen) {
		return changed.have[state.PropertyUpdate].(string)
	}
	return ""
}

// RenamedVolumes returns the volumes of nodes that an inventory has under other names.
var RenamedVolumes = running.renamed

// Commented returns a preview with what its comment for reviewers is written from: the steps of its plan, what was allowed, and what must
// not show.
func Commented(p Preview, steps []plan.Step, allowed []Permission, stack string, place remedy.Place, hide *artifacts.Redactor) *Preview {
	p.steps, p.allowed, p.stack, p.place, p.hide = steps, allowed, stack, place, hide
	return &p
}

// In returns an operator that works in a folder of its own.
func In(options Options, work *workspace.Workspace, events Events, now func() time.Time) *Operator {
	return &Operator{options: options, workspace: work, events: &serialEvents{to: events}, clock: standing{now}}
}

// standing is a clock that does not wait.
type standing struct{ now func() time.Time }

func (s standing) Now() time.Time { return s.now() }

func (standing) After(time.Duration) <-chan time.Time { return nil }

// Session is a session that has opened no stack.
type Session = session

// Session returns a session with an inventory. purpose is what a person is asked to consent to.
func (o *Operator) Session(purpose string, inv *inventory.Inventory) *Session {
	s := o.session(purpose)
	if inv != nil {
		s.inventory, s.engine.content = inv, inv
	}
	return s
}

// On returns the session with a state and a host.
func (s *session) On(state engine.State, host pve.Connection, place remedy.Place) *Session {
	s.state = &stackstate.State{State: state, Backups: s.state.Backups, Place: place, Now: s.clock.Now, Kept: s.tellBackup, Bucket: s.backupBucket}
	s.host, s.place = host, place
	s.engine.state, s.engine.place = s.state, place
	return s
}

// OfSystems returns the session as one on a stack of systems.
func (s *session) OfSystems(inv *systems.Inventory) *Session {
	s.inventory, s.layer = nil, systemsLayer{inv}
	s.engine.content = s.layer
	return s
}

// SystemsByHand returns what was changed by hand of systems.
func (s *session) SystemsByHand(ctx context.Context, deployment apitype.DeploymentV3) OutOfBand {
	return s.layer.findByHand(ctx, s.host, deployment)
}

// ExamineHosts checks hosts for an inventory and for what the state says the stack has made of them.
func ExamineHosts(ctx context.Context, inv *hosts.Inventory, host pve.Connection, deployment apitype.DeploymentV3) (preflight.Report, error) {
	return hostsLayer{inv}.examine(ctx, layerFacts{host: host, deployment: deployment})
}

// NamedServers returns the nameservers of the cluster that other stacks make.
func (s *session) NamedServers() ([]preflight.Server, error) {
	return s.hostChecks(false).namedServers()
}

// CheckNotNeeded refuses while clusters are there that need what the stack has.
func (s *session) CheckNotNeeded(ctx context.Context) error {
	return s.destroyTarget().CheckNotNeeded(ctx)
}

// Spares reports whether a run of the options touches nothing on the NAS.
func (s *session) Spares(options UpOptions, restoring *EtcdRestoreOptions) (bool, error) {
	of, err := options.span()
	return s.restorer(restoring, nil).spares(of), err
}

// Resumed returns the note with which a restore of etcd that was begun goes on, in a restore that is asked for or in an up.
func (s *session) Resumed(seen etcdrestore.Seen, nodes []rolling.Node, begun etcdrestore.Note, asked *EtcdRestoreOptions) (etcdrestore.Note, error) {
	r, err := s.restorer(asked, nil).resumed(&etcdRestoration{seen: seen, health: nodeops.Health{Nodes: nodes}}, begun)
	if err != nil {
		return etcdrestore.Note{}, err
	}
	return r.note, nil
}

// RestoreNotes are the notes of a restore of etcd.
func (s *session) RestoreNotes() etcdrestore.Notes { return s.restorer(nil, nil).restoreNotes() }

// WithBackups has the session keep its backups where the workspace has them now.
func (s *session) WithBackups() { s.state.Backups = s.backups() }

// WithFailures records what the engine has reported in its last run, and what a person has consented to.
func (s *session) WithFailures(failures []progress.Failure, consented ...Permission) {
	s.engine.failures, s.engine.consented = failures, consented
}

// Failed returns the error of an operation whose engine failed.
func (s *session) Failed(ctx context.Context, operation string, err error) error {
	return s.engine.Failed(ctx, operation, err)
}

// State is the state of the session's stack.
func (s *session) State() *stackstate.State { return s.state }

// ProgramRefuses records a refusal of the program in the engine's last run.
func (s *session) ProgramRefuses(err error) { s.engine.refusal.note(err) }

// ProgramRefused returns the recorded refusal, and forgets it.
func (s *session) ProgramRefused() error { return s.engine.refusal.take() }

// Ask asks a person for consent, unless everything is agreed to.
func (s *session) Ask(ctx context.Context) error { return s.consent.ask(ctx) }

// AskAgain asks for consent in the second pass of an up.
func (s *session) AskAgain(ctx context.Context) error {
	consent := s.consent
	consent.again = true
	return consent.ask(ctx)
}

// WriteCredentials writes the credentials of the outputs.
func (o *Operator) WriteCredentials(outputs stacks.Outputs) error {
	return o.credentials().keep(outputs)
}

// ForgottenCredentials removes the credentials.
func (o *Operator) ForgottenCredentials() error { return o.credentials().forget() }

// ChooseBackup reads the backup of a restore; "" means the newest.
func (s *session) ChooseBackup(ctx context.Context, name string) error {
	_, _, err := s.restoration(nil).choose(ctx, name)
	return err
}

// TakeForTasks reads the inventory as the commands about tasks do.
func (s *session) TakeForTasks() error { return s.take(needs{systems: true}) }

// TaskMeant returns the running task that is named as on the command line.
func (s *session) TaskMeant(ctx context.Context, which string) (Task, error) {
	return s.hostTasks().meant(ctx, which)
}

// HostTasks returns the running tasks.
func (s *session) HostTasks(ctx context.Context) ([]Task, error) { return s.hostTasks().list(ctx) }

// ChosenForRestore returns the snapshot that a restore of etcd takes, with its contents, if the control planes have this data.
func (s *session) ChosenForRestore(ctx context.Context, from string, nodes []string, data map[string]nodeops.EtcdSnapshot) (*EtcdSnapshot, error) {
	restorer := s.restorer(&EtcdRestoreOptions{From: from}, nil)
	var seen etcdrestore.Seen
	for _, node := range nodes {
		seen.ControlPlanes = append(seen.ControlPlanes, etcdrestore.ControlPlane{Node: rolling.Node{Name: node}, Data: etcdrestore.Some})
	}
	choose := restorer.newest
	if from != "" {
		choose = restorer.named
	}
	chosen, _, err := choose(ctx, seen, func(node etcdrestore.ControlPlane) (*KeptSnapshot, error) {
		return s.etcd().keep(ctx, "before-restore", data[node.Name])
	})
	return chosen, err
}

// WithProgram sets the options of the program that the engine runs.
func (s *session) WithProgram(options stacks.Options) { s.engine.program = options }

// MoveTo moves the state to another place.
func (s *session) MoveTo(ctx context.Context, to string) error {
	defer s.recovery.Release(ctx)
	return migration{Operator: s.Operator, state: s.state, to: to, clearLocks: s.recovery.ClearLocks}.run(ctx)
}

// RestoreState puts a backup back.
func (s *session) RestoreState(ctx context.Context, name string) (*Restored, error) {
	defer s.recovery.Release(ctx)
	return s.restoration(nil).run(ctx, name)
}

// MayCreateState refuses a restore into a place from which the state was moved.
func (s *session) MayCreateState(ctx context.Context) error { return s.checkNotMoved(ctx) }

// The checks of a session, and what it finds of backups.
func (s *session) CheckNotLost(ctx context.Context) error       { return s.missingState().checkNotLost(ctx) }
func (s *session) FinishMove(ctx context.Context) (bool, error) { return s.arrival().finish(ctx) }
func (s *session) CheckPlace(ctx context.Context, backend string) error {
	return s.statePlace(backend).check(ctx)
}
func (s *session) CheckNotMoved(ctx context.Context) error { return s.checkNotMoved(ctx) }
func (s *session) CheckFirst() error                       { return s.missingState().checkFirst() }
func (s *session) MayBeMade(ctx context.Context, create bool) error {
	return s.missingState().mayBeMade(ctx, create)
}
func (s *session) CheckTokenIsConfigured(ctx context.Context) error {
	return s.tokenReplacement().checkConfigured(ctx)
}
func (s *session) HasEmptyState(ctx context.Context) (bool, error) { return s.inState().isEmpty(ctx) }
func (s *session) StateBackups(ctx context.Context) *status.StateBackups {
	return s.keptCopies().ofState(ctx)
}

func (s *session) RotateTokenOn(ctx context.Context, options RotateTokenOptions) (*TokenRotated, error) {
	return s.tokenReplacement().run(ctx, options)
}

func (o *Operator) NoteMove(ctx context.Context, to string) error {
	return o.noteMove(ctx, o.workspace.Backend, to)
}
func (o *Operator) CheckSecrets(ctx context.Context) error { return o.checkSecrets(ctx) }
func (o *Operator) TellBackup(kept KeptBackup)             { o.tellBackup(kept) }

func (o *Operator) SaveBackup(at time.Time, reason string, text []byte) (Backup, error) {
	return o.backups().Save(at, reason, text)
}

func (o *Operator) FindBackup(ctx context.Context, name string) (Backup, error) {
	return o.findBackup(ctx, name)
}

func (o *Operator) ProxmoxToken(ctx context.Context) (token string, place stacks.TokenPlace, err error) {
	return o.proxmoxToken(ctx, "")
}

// VerifyCluster waits until the cluster of the stack home is healthy; ask returns its status.
func VerifyCluster(ctx context.Context, ask func(time.Time) status.Report, emit func(Event)) (status.Report, error) {
	return verification{
		ask:   func(_ context.Context, now time.Time) status.Report { return ask(now) },
		clock: systemClock{}, place: remedy.Place{Stack: "--stack home"}, emit: emit,
	}.run(ctx)
}

// PluginsOf is for tests of what gets a gateway in an adoption.
var PluginsOf = pluginsOf
