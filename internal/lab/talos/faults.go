package talos

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Faults decides what goes wrong. Every call of the Talos API and every step of a machine's life passes it.
type Faults interface {
	// At says what happens at this point; the zero Effect lets it pass.
	At(Point) Effect
}

// Point is a place where something can go wrong.
type Point struct {
	VMID int
	// Name is the full gRPC method of a call, or a Step.
	Name string
	// Done is false before the call or step, true after it was done and before anybody hears of it.
	Done bool
}

// Effect is what goes wrong at a point.
type Effect struct {
	// Err makes the call or step fail. A gRPC status reaches the client as it is.
	Err error
	// Hang keeps the call or step from ending until its context ends.
	Hang bool
	// Cut closes the connection of the call without an answer.
	Cut bool
}

// Step is a step of a machine's life, by the name under which the log and the faults know it.
type Step string

// Steps of a machine's life.
const (
	StepBoot             Step = "boot"
	StepLeaveMaintenance Step = "leave-maintenance"
	StepListen           Step = "listen"
	StepInstall          Step = "install"
	StepCertificate      Step = "certificate"
	StepServices         Step = "services"
	StepEtcdStart        Step = "etcd-start"
	StepEtcdPromote      Step = "etcd-promote"
	StepStop             Step = "stop"
	StepFailure          Step = "failure"
	StepOff              Step = "off"
)

// FaultName is the name under which a fault is switched on.
type FaultName string

// Faults that a FaultSet knows.
const (
	FaultStaysInMaintenance  FaultName = "never-leaves-maintenance"
	FaultBootstrapAnswerLost FaultName = "bootstrap-answer-lost"
	FaultApplyHangs          FaultName = "apply-hangs"
	FaultInstallFails        FaultName = "install-fails"
	FaultLearnerNotPromoted  FaultName = "etcd-learner-stuck"
	FaultCertificateWithheld FaultName = "certificate-withheld"
	FaultAPIUnavailable      FaultName = "talos-api-unavailable"
)

// ErrUnknownFault is returned for a name that no FaultSet knows.
var ErrUnknownFault = errors.New("no such fault")

// faultRow says at which point a fault strikes and what it does there. An empty point stands for every call.
type faultRow struct {
	fault       FaultName
	description string
	point       string
	done        bool
	effect      Effect
}

func faultRows() []faultRow {
	const service = "/machine.MachineService/"

	return []faultRow{
		{
			fault:       FaultStaysInMaintenance,
			description: "the node accepts a configuration and stays in maintenance mode",
			point:       string(StepLeaveMaintenance),
			effect:      Effect{Hang: true},
		},
		{
			fault:       FaultBootstrapAnswerLost,
			description: "bootstrap happens, but the connection breaks before the answer",
			point:       service + "Bootstrap",
			done:        true,
			effect:      Effect{Cut: true},
		},
		{
			fault:       FaultApplyHangs,
			description: "applying a configuration never answers",
			point:       service + "ApplyConfiguration",
			effect:      Effect{Hang: true},
		},
		{
			fault:       FaultInstallFails,
			description: "the installer fails, and the node boots into maintenance mode again",
			point:       string(StepInstall),
			effect:      Effect{Err: errors.New("installer exited with code 1")},
		},
		{
			fault:       FaultLearnerNotPromoted,
			description: "an etcd member that joins stays a learner",
			point:       string(StepEtcdPromote),
			effect:      Effect{Hang: true},
		},
		{
			fault:       FaultCertificateWithheld,
			description: "the node gets no certificate, so that its secure API never opens",
			point:       string(StepCertificate),
			effect:      Effect{Hang: true},
		},
		{
			fault:       FaultAPIUnavailable,
			description: "every call of the node's API fails",
			effect:      Effect{Err: status.Error(codes.Unavailable, "the node does not answer")},
		},
	}
}

// Fault is a fault that is switched on.
type Fault struct {
	Name FaultName
	// VMID of the machine it strikes; 0 is every machine.
	VMID int
	// Times is how often it strikes before it switches itself off; 0 is without end.
	Times int
}

// FaultSet is a set of faults that can be switched on and off by name. It is safe for concurrent use.
type FaultSet struct {
	mu     sync.Mutex
	active []Fault
}

// NewFaultSet has no fault switched on.
func NewFaultSet() *FaultSet { return &FaultSet{} }

// FaultDescription tells what a fault does.
type FaultDescription struct {
	Name        FaultName
	Description string
}

// FaultDescriptions are the faults that a FaultSet knows, in a fixed order.
func FaultDescriptions() []FaultDescription {
	rows := faultRows()

	all := make([]FaultDescription, 0, len(rows))
	for _, row := range rows {
		all = append(all, FaultDescription{row.fault, row.description})
	}

	return all
}

// Set switches a fault on, replacing the same fault of the same machine. The error is ErrUnknownFault.
func (s *FaultSet) Set(f Fault) error {
	if !slices.ContainsFunc(faultRows(), func(row faultRow) bool { return row.fault == f.Name }) {
		return fmt.Errorf("%w: %q", ErrUnknownFault, f.Name)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.clear(f.Name, f.VMID)
	s.active = append(s.active, f)

	return nil
}

// Clear switches off what Set switched on.
func (s *FaultSet) Clear(name FaultName, vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.clear(name, vmid)
}

func (s *FaultSet) clear(name FaultName, vmid int) {
	s.active = slices.DeleteFunc(s.active, func(f Fault) bool { return f.Name == name && f.VMID == vmid })
}

// Active are the faults that are switched on, in the order in which they were.
func (s *FaultSet) Active() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Clone(s.active)
}

// At implements Faults.
func (s *FaultSet) At(p Point) Effect {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, row := range faultRows() {
		if !row.strikes(p) {
			continue
		}

		i := slices.IndexFunc(s.active, func(f Fault) bool { return f.Name == row.fault && (f.VMID == 0 || f.VMID == p.VMID) })
		if i < 0 {
			continue
		}

		if f := &s.active[i]; f.Times > 0 {
			if f.Times--; f.Times == 0 {
				s.active = slices.Delete(s.active, i, i+1)
			}
		}

		return row.effect
	}

	return Effect{}
}

func (row faultRow) strikes(p Point) bool {
	isCall := len(p.Name) > 0 && p.Name[0] == '/'

	return row.done == p.Done && (row.point == p.Name || row.point == "" && isCall)
}

type noFaults struct{}

func (noFaults) At(Point) Effect { return Effect{} }
