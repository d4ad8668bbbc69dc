package nodeops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/internal/nvidia"
	"github.com/em-infra/em-infra/internal/poll"
)

// GPUResource is the name that NVIDIA's device plugin uses for a GPU, or for a share of one.
const GPUResource = "nvidia.com/gpu"

// GPUNode is a node that should offer GPUs.
type GPUNode struct {
	// Name of the Kubernetes node.
	Name string
	// Address of its Talos API.
	Address string
	// Devices is the number of devices that are passed through to its machine.
	Devices int
	// Offered is the number of [GPUResource] that the node should report: more than Devices when the GPUs are shared.
	Offered int
}

// WaitForGPUs returns when the node offers its GPUs to Kubernetes. When ctx ends, the error has one sentence for each
// problem, from the device up to the offer, each with what to do; it wraps the context's error. It is [ErrTalosconfig] when
// the talosconfig cannot be read.
func WaitForGPUs(ctx context.Context, talosconfig []byte, node GPUNode) error {
	last := errors.New("no answer yet")
	err := poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		seen, err := lookAtGPUs(ctx, talosconfig, node)
		if errors.Is(err, ErrTalosconfig) {
			return false, err
		}
		if err == nil {
			err = seen.judge(node)
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	switch {
	case err == nil || errors.Is(err, ErrTalosconfig):
		return err
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("waiting for the GPUs of %s: %w", node.Name, err)
	default:
		return &lateError{what: "node " + node.Name + " does not offer its GPUs", remedy: last.Error()}
	}
}

// gpuView is the state of the GPUs as the node and its Kubernetes Node report it.
type gpuView struct {
	talos      string   // the version
	devices    []string // as vendor:device
	extensions []string
	modules    []string
	plugin     string // phase of the device plugin's pod on the node; empty without a pod
	offered    int
}

// gpuModule is the kernel module that is loaded once the driver has found its device.
const gpuModule = "nvidia"

// judge returns one sentence for each problem. It leaves out problems that only follow from another one.
func (v gpuView) judge(node GPUNode) error {
	var problems []error
	say := func(format string, values ...any) { problems = append(problems, fmt.Errorf(format, values...)) }
	if len(v.devices) < node.Devices {
		say("the machine sees %d of %d NVIDIA devices: see that the VM has its hostpci entries and that the host does not use the cards (docs/operations.md), then stop and start the VM", len(v.devices), node.Devices)
	}
	driver, whole := nvidia.Installed(v.extensions)
	misfits := v.misfits(driver)
	switch {
	case !whole:
		say("its Talos runs without NVIDIA's driver and container toolkit, which come as a pair of extensions (it has: %s): run `em-infra up`, which upgrades it to the image of a gpu-worker; a patch with machine.install.image has to name one with them", enumerate(v.extensions))
	case len(misfits) > 0:
		say("its driver (%s) does not drive %s: %s", driver.In(v.talos), strings.Join(misfits, "; nor "), v.remedy())
	case !slices.Contains(v.modules, gpuModule) && len(v.devices) > 0:
		say("the kernel has not loaded the module %s: see `talosctl dmesg` for why the driver refuses the card, which is most often too old or too new for it", gpuModule)
	}
	if where := pluginPodsOn(v.talos); len(problems) == 0 && v.offered < node.Offered {
		switch v.plugin {
		case "":
			say("no pod of the device plugin runs on it: see that the node has the label nvidia.com/gpu.present and no taint that the plugin does not tolerate")
		case "Running":
			say("the device plugin offers %d of %d %s: see its log with `kubectl logs --namespace %s --selector %s`", v.offered, node.Offered, GPUResource, where.namespace, where.selector)
		default:
			say("the pod of the device plugin is %s: see `kubectl describe pod --namespace %s --selector %s`", v.plugin, where.namespace, where.selector)
		}
	}
	return errors.Join(problems...)
}

// remedy returns what to do when the driver does not support a device. Another image helps only if some driver supports all
// of them.
func (v gpuView) remedy() string {
	remedy := nvidia.Remedy(v.generations(), v.talos)
	if _, there := nvidia.Fitting(v.generations(), v.talos); !there {
		return remedy
	}
	return remedy + " for it in nodes.yaml, then run `em-infra up`, which upgrades it to that image"
}

// generations returns the generation of each device.
func (v gpuView) generations() []nvidia.Generation {
	generations := make([]nvidia.Generation, len(v.devices))
	for i, id := range v.devices {
		generations[i] = nvidia.GenerationOf(id)
	}
	return generations
}

// misfits returns the devices that a driver does not support, each with the reason.
func (v gpuView) misfits(driver nvidia.Driver) []string {
	var misfits []string
	for i, generation := range v.generations() {
		if misfit := driver.Misfit(generation, driver.Branch.Release(v.talos)); misfit != "" {
			misfits = append(misfits, fmt.Sprintf("%s (%s)", v.devices[i], misfit))
		}
	}
	return misfits
}

func enumerate(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// GPUOperatorNamespace is the namespace of NVIDIA's gpu-operator, and of all that it installs.
const GPUOperatorNamespace = "gpu-operator"

// pluginPods select the pods of the device plugin.
type pluginPods struct{ namespace, selector string }

// pluginPodsOn returns where the pods of the device plugin are on a release of Talos: those of the Helm chart nvidia-device-plugin
// (templates/_helpers.tpl, selectorLabels), or of gpu-operator (assets/state-device-plugin/0500_daemonset.yaml).
func pluginPodsOn(talos string) pluginPods {
	if nvidia.ByOperator(talos) {
		return pluginPods{GPUOperatorNamespace, "app=nvidia-device-plugin-daemonset"}
	}
	return pluginPods{"kube-system", "app.kubernetes.io/name=nvidia-device-plugin"}
}

func lookAtGPUs(ctx context.Context, talosconfig []byte, node GPUNode) (gpuView, error) {
	var view gpuView
	err := Health{Talosconfig: talosconfig}.ask(ctx, node.Address, view.readTalos)
	if err != nil {
		return view, fmt.Errorf("%w: run up again when it does", err)
	}
	api, err := ReachKubernetes(ctx, talosconfig)
	if err != nil {
		return view, fmt.Errorf("the Kubernetes API does not answer (%s): run up again when it does", oneLine(err))
	}
	defer api.Close()
	err = view.readKubernetes(ctx, api, node.Name)
	return view, err
}

// nvidiaVendor is NVIDIA's PCI vendor ID, in the form of Talos (hardware.PCIDeviceSpec).
const nvidiaVendor = "0x10de"

// displayClass is the PCI base class of graphics cards. It excludes the sound devices on NVIDIA's cards.
const displayClass = "0x03"

func (v *gpuView) readTalos(ctx context.Context, api *client.Client) error {
	devices, err := safe.StateListAll[*hardware.PCIDevice](ctx, api.COSI)
	if err != nil {
		return err
	}
	for device := range devices.All() {
		if spec := device.TypedSpec(); spec.VendorID == nvidiaVendor && spec.ClassID == displayClass {
			v.devices = append(v.devices, strings.TrimPrefix(spec.VendorID, "0x")+":"+strings.TrimPrefix(spec.ProductID, "0x"))
		}
	}
	extensions, err := safe.StateListAll[*runtime.ExtensionStatus](ctx, api.COSI)
	if err != nil {
		return err
	}
	for extension := range extensions.All() {
		v.extensions = append(v.extensions, extension.TypedSpec().Metadata.Name)
	}
	version, err := api.Version(ctx)
	if err != nil {
		return err
	}
	for _, message := range version.Messages {
		v.talos = message.GetVersion().GetTag()
	}
	modules, err := safe.StateListAll[*runtime.LoadedKernelModule](ctx, api.COSI)
	if err != nil {
		return err
	}
	for module := range modules.All() {
		v.modules = append(v.modules, module.Metadata().ID())
	}
	return nil
}

func (v *gpuView) readKubernetes(ctx context.Context, api *Kubernetes, name string) error {
	var node struct {
		Status struct{ Allocatable map[string]string }
	}
	if err := api.call(ctx, http.MethodGet, "/api/v1/nodes/"+name, nil, &node); err != nil {
		return fmt.Errorf("its Node cannot be read (%w): run up again", err)
	}
	if text, offers := node.Status.Allocatable[GPUResource]; offers {
		offered, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("its Node says %q of %s: see the device plugin's log", text, GPUResource)
		}
		v.offered = offered
	}
	query := url.Values{"fieldSelector": {"spec.nodeName=" + name}, "labelSelector": {pluginPodsOn(v.talos).selector}}
	var pods struct {
		Items []struct{ Status struct{ Phase string } }
	}
	if err := api.call(ctx, http.MethodGet, "/api/v1/pods?"+query.Encode(), nil, &pods); err != nil {
		return fmt.Errorf("the pods on it cannot be read (%w): run up again", err)
	}
	for _, pod := range pods.Items {
		v.plugin = pod.Status.Phase
	}
	return nil
}
