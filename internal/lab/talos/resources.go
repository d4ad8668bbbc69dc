package talos

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/image-factory/pkg/constants"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	timeres "github.com/siderolabs/talos/pkg/machinery/resources/time"
	"github.com/siderolabs/talos/pkg/machinery/resources/v1alpha1"

	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// put creates or updates one resource of the system.
func put[R resource.Resource](s *system, r R, set func(R)) error {
	err := safe.StateModify(s.ctx, s.resources, r, func(r R) error {
		set(r)

		return nil
	})
	if err != nil {
		return fmt.Errorf("publish %s %s: %w", r.Metadata().Type(), r.Metadata().ID(), err)
	}

	return nil
}

// withdraw destroys a resource if it exists.
func withdraw(s *system, r resource.Resource) error {
	if err := s.resources.Destroy(s.ctx, r.Metadata()); err != nil && !state.IsNotFoundError(err) {
		return fmt.Errorf("withdraw %s %s: %w", r.Metadata().Type(), r.Metadata().ID(), err)
	}

	return nil
}

// publishMachine publishes what is known without a configuration: the build, the hardware and the configuration drive.
func (s *system) publishMachine() error {
	n, err := networkOf(s.hardware, nil, "")
	if err != nil {
		return err
	}

	return errors.Join(
		put(s, runtime.NewVersion(), func(r *runtime.Version) { r.TypedSpec().Version = s.release.Version }),
		s.publishExtensions(),
		s.publishHardware(),
		s.publishDisks(),
		s.progressVolumes(),
		s.publishNetwork(n),
		s.publishLinks(nil),
		s.publishRoutes(nil),
		put(s, timeres.NewStatus(), func(r *timeres.Status) { r.TypedSpec().Synced = true }),
		s.enterStage(runtime.MachineStageBooting),
	)
}

// publishExtensions lists the build's extensions, and the one with which the Image Factory marks the schematic of an image
// (image-factory v0.6.9, internal/artifacts/schematic.go).
func (s *system) publishExtensions() error {
	extensions := s.release.clone().Extensions
	if s.release.Schematic != "" {
		extensions = append(extensions, Extension{Name: constants.SchematicIDExtensionName, Version: s.release.Schematic})
	}

	for _, extension := range extensions {
		r := runtime.NewExtensionStatus(runtime.NamespaceName, extension.Name)

		if err := put(s, r, func(r *runtime.ExtensionStatus) {
			r.TypedSpec().Metadata.Name = extension.Name
			r.TypedSpec().Metadata.Version = extension.Version
		}); err != nil {
			return err
		}
	}

	return nil
}

func (s *system) publishHardware() error {
	info := hardware.NewSystemInformation(hardware.SystemInformationID)
	memory := hardware.NewMemoryModuleInfo("0")
	processor := hardware.NewProcessorInfo("0")

	return errors.Join(
		s.publishPCIDevices(),
		put(s, info, func(r *hardware.SystemInformation) {
			r.TypedSpec().Manufacturer = "QEMU"
			r.TypedSpec().ProductName = "Standard PC (Q35 + ICH9, 2009)"
			r.TypedSpec().UUID = s.hardware.UUID
		}),
		put(s, memory, func(r *hardware.MemoryModule) { r.TypedSpec().Size = uint32(s.hardware.MemoryMiB) }),
		put(s, processor, func(r *hardware.Processor) {
			r.TypedSpec().CoreCount = uint32(s.hardware.CPUs)
			r.TypedSpec().CoreEnabled = uint32(s.hardware.CPUs)
			r.TypedSpec().ThreadCount = uint32(s.hardware.CPUs)
		}),
		put(s, runtime.NewPlatformMetadataSpec(runtime.NamespaceName, runtime.PlatformMetadataID), func(r *runtime.PlatformMetadata) {
			r.TypedSpec().Platform = platformName
			r.TypedSpec().Hostname = s.hardware.CloudInit.Hostname
		}),
	)
}

// publishNetwork publishes names and addresses. An emulated node never has Kubernetes' own addresses, so the lists without
// them are complete, and the lists with only them are empty.
func (s *system) publishNetwork(n nodeNetwork) error {
	errs := []error{
		s.publishAddressStatuses(n),
		s.publishAddresses(network.NodeAddressDefaultID, n.addresses[:min(1, len(n.addresses))]),
	}

	for _, list := range []resource.ID{network.NodeAddressCurrentID, network.NodeAddressRoutedID, network.NodeAddressAccumulativeID} {
		errs = append(errs,
			s.publishAddresses(list, n.addresses),
			s.publishAddresses(network.FilteredNodeAddressID(list, k8s.NodeAddressFilterNoK8s), n.addresses),
			s.publishAddresses(network.FilteredNodeAddressID(list, k8s.NodeAddressFilterOnlyK8s), nil),
		)
	}

	if n.hostname != "" {
		errs = append(errs, put(s, network.NewHostnameStatus(network.NamespaceName, network.HostnameID), func(r *network.HostnameStatus) {
			r.TypedSpec().Hostname, r.TypedSpec().Domainname = n.hostname, n.domain
		}))
	}

	return errors.Join(append(errs, put(s, network.NewStatus(network.NamespaceName, network.StatusID), func(r *network.Status) {
		*r.TypedSpec() = network.StatusSpec{
			AddressReady: len(n.addresses) > 0, ConnectivityReady: len(n.addresses) > 0,
			HostnameReady: n.hostname != "", EtcFilesReady: true,
		}
	}))...)
}

func (s *system) publishAddresses(list resource.ID, addresses []netip.Prefix) error {
	return put(s, network.NewNodeAddress(network.NamespaceName, list), func(r *network.NodeAddress) {
		r.TypedSpec().Addresses = addresses
	})
}

// publishService publishes a resource for a running service only, as Talos does (controllers/v1alpha1/service.go).
func (s *system) publishService(c service.Change) error {
	r := v1alpha1.NewService(c.ID)
	if c.State != service.Running {
		return withdraw(s, r)
	}

	return put(s, r, func(r *v1alpha1.Service) {
		*r.TypedSpec() = v1alpha1.ServiceSpec{Running: true, Healthy: c.Health.GetHealthy(), Unknown: c.Health == nil}
	})
}
