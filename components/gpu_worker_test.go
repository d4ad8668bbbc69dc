package components_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/recorder"
)

const (
	tokenMapping   = "proxmoxve:Hardware/mapping/pci:Pci"
	tokenSchematic = "talos:imageFactory/schematic:Schematic"
)

var rtx3090 = components.PCIDevice{BDF: "0000:01:00.0", DeviceID: "10de:2204", SubsystemID: "1462:3881", IOMMUGroup: 14}

func gpuMachine(name string, last byte, gpus ...components.GPU) components.Machine {
	m := machineFixture(name, components.RoleWorker, last)
	m.GPUs = gpus
	return m
}

// gpuCluster has a worker for each way to a GPU, on two hosts whose cards one mapping holds.
func gpuCluster(ctx *pulumi.Context, providers pulumi.ResourceOption) (*components.TalosCluster, error) {
	schematic := components.Schematic{Extensions: []string{"siderolabs/qemu-guest-agent"}}
	here, there := templateFixture("vmhost"), templateFixture("vmhost2")
	here.Schematic, there.Schematic, there.VMID = schematic, schematic, 9001
	onHere, err := components.NewTalosTemplate(ctx, "here", here, providers)
	if err != nil {
		return nil, err
	}
	onThere, err := components.NewTalosTemplate(ctx, "there", there, providers)
	if err != nil {
		return nil, err
	}
	elsewhere := gpuMachine("gpu-2", 32, components.GPU{Mapping: "rtx3090"}, components.GPU{Mapping: "rtx3090"})
	elsewhere.Host = "vmhost2"
	elsewhere.Taints = map[string]string{"nvidia.com/gpu": ":NoExecute", "example.org/alone": ":NoSchedule"}
	elsewhere.Patches = []string{"machine: {sysctls: {vm.nr_hugepages: \"1\"}}"}
	args := clusterFixture("k3s-dev",
		machineFixture("control-1", components.RoleControlPlane, 11),
		gpuMachine("gpu-1", 31, components.GPU{Mapping: "rtx3090"}, components.GPU{Mapping: "gpu-1-gpu1", Device: &rtx3090}),
		elsewhere)
	args.Templates = []*components.TalosTemplate{onHere, onThere}
	return components.NewTalosCluster(ctx, "k3s-dev", args, providers)
}

func TestPlanOfGPUWorkers(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(gpuCluster))
	require.NoError(t, err)
	golden.Equal(t, "testdata/plan/gpu-workers.golden", r.Plan())
}

func TestInputsOfGPUWorkersAreGolden(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(gpuCluster))
	require.NoError(t, err)
	for _, resource := range []struct{ token, name string }{
		{"em-infra:index:GpuWorker", "k3s-dev-gpu-1"},
		{tokenMapping, "k3s-dev-gpu-1-gpu1"},
		{tokenSchematic, "k3s-dev-gpu-1-image-schematic"},
		{tokenVM, "k3s-dev-gpu-1-vm"},
	} {
		inputs, err := recorder.Inputs(r.Named(t, resource.token, resource.name))
		require.NoError(t, err)
		golden.Equal(t, "testdata/inputs/"+resource.name+".json", inputs)
	}
}

func TestF14DevicesComeFromMappingsOnly(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(gpuCluster))
	require.NoError(t, err)
	for _, name := range []string{"k3s-dev-gpu-1-vm", "k3s-dev-gpu-2-vm"} {
		machine := r.Named(t, tokenVM, name)
		devices := machine.Inputs["hostpcis"].ArrayValue()
		require.Len(t, devices, 2)
		for _, device := range devices {
			require.NotContains(t, device.ObjectValue(), "id", "a bare address takes root@pam")
			require.True(t, device.ObjectValue()["pcie"].BoolValue())
		}
		require.Zero(t, machine.Inputs["memory"].ObjectValue()["floating"].NumberValue(), "passthrough and a balloon do not go together")
	}
	require.Contains(t, recorder.ShortURNs(r.Named(t, tokenVM, "k3s-dev-gpu-1-vm").RegisterRPC.GetDependencies()), "k3s-dev-gpu-1-gpu1")
}

func TestF38DriverAndToolkitAreAPair(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		driver components.NVIDIADriver
		want   string
	}{
		{"", "            - siderolabs/nvidia-container-toolkit-lts\n            - siderolabs/nvidia-open-gpu-kernel-modules-lts\n"},
		{components.NVIDIAOpenProduction, "            - siderolabs/nvidia-container-toolkit-production\n            - siderolabs/nvidia-open-gpu-kernel-modules-production\n"},
		{components.NVIDIAProprietary, "            - siderolabs/nonfree-kmod-nvidia-lts\n            - siderolabs/nvidia-container-toolkit-lts\n"},
		{components.NVIDIAProprietaryProduction, "            - siderolabs/nonfree-kmod-nvidia-production\n            - siderolabs/nvidia-container-toolkit-production\n"},
	} {
		t.Run(string(test.driver), func(t *testing.T) {
			t.Parallel()

			r, err := run(t, false, oneGPUWorker(components.Schematic{}, test.driver))
			require.NoError(t, err)
			document := r.Named(t, tokenSchematic, "gpu-1-image-schematic").Inputs["schematic"].StringValue()
			require.Equal(t, "customization:\n    systemExtensions:\n        officialExtensions:\n"+test.want, document)
		})
	}
}

// Without a setting, the driver of a machine with GPUs follows from its cards.
func TestDefaultsOfAMachineWithGPUs(t *testing.T) {
	t.Parallel()

	old := rtx3090
	old.DeviceID = "10de:1b06" // a GTX 1080 Ti
	r, err := run(t, false, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return err
		}
		node := nodeFixture(template, gpuMachine("gpu-1", 31, components.GPU{Mapping: "gpu-1-gpu0", Device: &old}))
		_, err = components.NewGpuWorker(ctx, "gpu-1", &components.GpuWorkerArgs{Node: node}, providers)
		return err
	})
	require.NoError(t, err)
	require.Equal(t, "proprietary", r.Named(t, "em-infra:index:GpuWorker", "gpu-1").Inputs["driver"].StringValue())
	require.Contains(t, r.Named(t, tokenSchematic, "gpu-1-image-schematic").Inputs["schematic"].StringValue(), "- siderolabs/nonfree-kmod-nvidia-lts\n")
	require.Equal(t, "host", r.Named(t, tokenVM, "gpu-1-vm").Inputs["cpu"].ObjectValue()["type"].StringValue())
}

// oneGPUWorker returns a GPU worker outside any cluster of ours: the library's user brings the configuration.
func oneGPUWorker(schematic components.Schematic, driver components.NVIDIADriver) program {
	return func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		args := templateFixture("vmhost")
		args.Schematic = schematic
		template, err := components.NewTalosTemplate(ctx, "template", args, providers)
		if err != nil {
			return err
		}
		node := nodeFixture(template, gpuMachine("gpu-1", 31, components.GPU{Mapping: "rtx3090"}))
		node.Machine.Driver = driver
		_, err = components.NewGpuWorker(ctx, "gpu-1", &components.GpuWorkerArgs{Node: node}, providers)
		return err
	}
}

func TestGPUWorkersAreInstalledWithTheDriverAndLoadIt(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(gpuCluster))
	require.NoError(t, err)
	require.Equal(t, []string{
		"machine:\n  install:\n    image: factory.talos.dev/nocloud-installer/" + schematicID(t, components.Schematic{Extensions: []string{"siderolabs/qemu-guest-agent"}}.WithDriver(components.NVIDIAOpen)) + ":v1.12.4\n",
		"machine:\n  sysctls:\n    net.core.bpf_jit_harden: \"1\"\n  kernel:\n    modules:\n      - name: nvidia\n      - name: nvidia_uvm\n      - name: nvidia_drm\n      - name: nvidia_modeset\n",
		"machine:\n  kubelet:\n    extraConfig:\n      registerWithTaints:\n        - effect: NoSchedule\n          key: example.org/alone\n        - effect: NoExecute\n          key: nvidia.com/gpu\n  nodeLabels:\n    nvidia.com/gpu.present: \"true\"\n",
		"machine: {sysctls: {vm.nr_hugepages: \"1\"}}",
	}, configPatches(t, r, "k3s-dev-gpu-2-configuration"), "what the machine says itself is the last word")
}

func TestGPUWorkerArgumentsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name       string
		extensions []string
		change     func(*components.GpuWorkerArgs)
		err        string
	}{
		{
			name:   "no GPU",
			change: func(a *components.GpuWorkerArgs) { a.Node.Machine.GPUs = nil },
			err:    `gpu worker "gpu-1": Node.Machine.GPUs: give at least one, or make a TalosNode`,
		},
		{
			name: "a control plane with half a device",
			change: func(a *components.GpuWorkerArgs) {
				a.Node.Machine.Role = components.RoleControlPlane
				a.Node.Machine.GPUs = []components.GPU{{}, {Mapping: "1080ti", Device: &components.PCIDevice{IOMMUGroup: -1}}}
			},
			err: `gpu worker "gpu-1": GPUs: only a worker can have some: choose RoleWorker
GPUs[0].Mapping: name the resource mapping
GPUs[1].Mapping: "1080ti" is not valid in Proxmox VE (a mapping's ID: a letter, then letters, digits, - and _, two characters at least): choose another name
GPUs[1].Device.BDF: give the PCI address, e.g. 0000:01:00.0
GPUs[1].Device.DeviceID: give vendor:device, e.g. 10de:2204
GPUs[1].Device.SubsystemID: give vendor:device of the subsystem, e.g. 1462:3881
GPUs[1].Device.IOMMUGroup: give the number of the group, 0 or more`,
		},
		{
			name:   "a driver that there is not",
			change: func(a *components.GpuWorkerArgs) { a.Node.Machine.Driver = "nouveau" },
			err:    `gpu worker "gpu-1": Driver: "nouveau" is unknown: use NVIDIAOpen or one of its siblings`,
		},
		{
			name: "a driver that does not drive the card",
			change: func(a *components.GpuWorkerArgs) {
				old := rtx3090
				old.DeviceID = "10de:1b06"
				a.Node.Machine.Driver, a.Node.Machine.GPUs = components.NVIDIAOpen, []components.GPU{{Mapping: "gpu-1-gpu0", Device: &old}}
			},
			err: `gpu worker "gpu-1": Node.Machine.Driver: "open" does not support GPUs[0] (Pascal needs proprietary kernel modules, the open ones begin with Turing): choose another driver or GPU`,
		},
		{
			name: "a driver and no GPU",
			change: func(a *components.GpuWorkerArgs) {
				a.Node.Machine.Driver, a.Node.Machine.GPUs = components.NVIDIAOpen, nil
			},
			err: `gpu worker "gpu-1": Driver: only a machine with GPUs has one: give GPUs, or leave it out
Node.Machine.GPUs: give at least one, or make a TalosNode`,
		},
		{
			name:       "half of another pair in the image",
			extensions: []string{"siderolabs/nvidia-container-toolkit-production", "siderolabs/qemu-guest-agent"},
			change:     func(*components.GpuWorkerArgs) {},
			err:        `gpu worker "gpu-1": Node.Template: its schematic has siderolabs/nvidia-container-toolkit-production, which does not go with the driver "open": take it out, since GPU workers get theirs`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
				args := templateFixture("vmhost")
				args.Schematic.Extensions = test.extensions
				template, err := components.NewTalosTemplate(ctx, "template", args, providers)
				if err != nil {
					return err
				}
				worker := &components.GpuWorkerArgs{Node: nodeFixture(template, gpuMachine("gpu-1", 31, components.GPU{Mapping: "rtx3090"}))}
				test.change(worker)
				_, err = components.NewGpuWorker(ctx, "gpu-1", worker, providers)
				return err
			}), test.err)
		})
	}
}

func TestAMachineThatGetsOrLosesItsGPUsStaysTheMachine(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(gpuCluster))
	require.NoError(t, err)
	former := func(node string) string {
		aliases := r.Named(t, "em-infra:index:TalosNode", node).RegisterRPC.GetAliases()
		require.Len(t, aliases, 1)
		return aliases[0].GetSpec().GetParentUrn()
	}
	const cluster = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster"
	require.Equal(t, cluster+"::k3s-dev", former("k3s-dev-gpu-1"), "before it had GPUs it was the cluster's own")
	require.Equal(t, cluster+"$em-infra:index:GpuWorker::k3s-dev-control-1", former("k3s-dev-control-1"), "it may have had GPUs")
}
