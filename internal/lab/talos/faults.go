package talos

import "time"

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
	// Retried is how often the node itself tries a step again that hangs, before scaling, so that it goes on when the failure has
	// passed. 0 is never.
	Retried time.Duration
	// Attempts is how often at most it does so. 0 is without end.
	Attempts int
	// Cut closes the connection of the call without an answer.
	Cut bool
	// Late is how much longer than usual a step takes, before scaling.
	Late time.Duration
	// Skew is how wrong the node's clock is where the step reads it.
	Skew time.Duration
	// Occupied has a step find a node of another cluster on a blank disk.
	Occupied bool
}

// Step is a step of a machine's life, by the name under which the log and the faults know it.
type Step string

// Steps of a machine's life.
const (
	StepBoot             Step = "boot"
	StepDisk             Step = "disk"
	StepLeaveMaintenance Step = "leave-maintenance"
	// StepGuestAgent is a question to QEMU's guest agent.
	StepGuestAgent Step = "guest-agent"
	// StepHalt is a boot from the ISO that stops because Talos is installed on a disk.
	StepHalt        Step = "halt"
	StepListen      Step = "listen"
	StepInstall     Step = "install"
	StepCertificate Step = "certificate"
	StepSign        Step = "sign"
	StepHandshake   Step = "handshake"
	StepServices    Step = "services"
	StepEtcdStart   Step = "etcd-start"
	StepEtcdPromote Step = "etcd-promote"
	StepStaticPods  Step = "static-pods"
	StepStop        Step = "stop"
	StepFailure     Step = "failure"
	StepOff         Step = "off"
)

type noFaults struct{}

func (noFaults) At(Point) Effect { return Effect{} }
