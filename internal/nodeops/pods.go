package nodeops

// podList holds the used fields of a PodList of k8s.io/api/core/v1.
type podList struct{ Items []podObject }

// podObject holds the used fields of a Pod.
type podObject struct {
	Metadata struct {
		Namespace, Name   string
		Annotations       map[string]string
		DeletionTimestamp string
		OwnerReferences   []struct {
			Kind       string
			Controller bool
		}
	}
	Status struct {
		Phase             string
		Conditions        []struct{ Type, Status string }
		ContainerStatuses []struct {
			State struct{ Waiting *struct{ Reason string } }
		}
	}
}

func (p podObject) isReady() bool {
	for _, condition := range p.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == "True"
		}
	}
	return false
}

// waitsFor returns why a container of the pod does not run, in brackets; empty if Kubernetes gives no reason.
func (p podObject) waitsFor() string {
	for _, container := range p.Status.ContainerStatuses {
		if container.State.Waiting != nil && container.State.Waiting.Reason != "" {
			return " (" + container.State.Waiting.Reason + ")"
		}
	}
	return ""
}

// controller returns the kind of the controller that recreates the pod; empty without one.
func (p podObject) controller() string {
	for _, owner := range p.Metadata.OwnerReferences {
		if owner.Controller {
			return owner.Kind
		}
	}
	return ""
}

// String returns the pod's name as namespace/name.
func (p podObject) String() string { return p.Metadata.Namespace + "/" + p.Metadata.Name }
