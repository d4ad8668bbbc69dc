package talos

import (
	"maps"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/role"
)

// The methods that each group of roles may call, as in Talos v1.12 (services/machined.go). All other methods are for admins.
var (
	readerMethods = []string{
		"/cluster.ClusterService/HealthCheck",
		"/inspect.InspectService/ControllerRuntimeDependencies",
		"/machine.MachineService/CPUInfo",
		"/machine.MachineService/CPUFreqStats",
		"/machine.MachineService/Containers",
		"/machine.MachineService/DiskStats",
		"/machine.MachineService/DiskUsage",
		"/machine.MachineService/Dmesg",
		"/machine.MachineService/Events",
		"/machine.MachineService/Hostname",
		"/machine.MachineService/ImageList",
		"/machine.MachineService/List",
		"/machine.MachineService/LoadAvg",
		"/machine.MachineService/Logs",
		"/machine.MachineService/LogsContainers",
		"/machine.MachineService/Memory",
		"/machine.MachineService/Mounts",
		"/machine.MachineService/NetworkDeviceStats",
		"/machine.MachineService/Netstat",
		"/machine.MachineService/Processes",
		"/machine.MachineService/ServiceList",
		"/machine.MachineService/Stats",
		"/machine.MachineService/SystemStat",
		"/machine.MachineService/Version",
		"/cosi.resource.State/Get",
		"/cosi.resource.State/List",
		"/cosi.resource.State/Watch",
		"/storage.StorageService/Disks",
		"/time.TimeService/Time",
		"/time.TimeService/TimeCheck",
	}
	etcdReaderMethods = []string{
		"/machine.MachineService/EtcdAlarmList",
		"/machine.MachineService/EtcdMemberList",
		"/machine.MachineService/EtcdStatus",
	}
	etcdBackupMethods = []string{
		"/machine.MachineService/EtcdSnapshot",
	}
	operatorMethods = []string{
		"/machine.MachineService/EtcdAlarmDisarm",
		"/machine.MachineService/EtcdDefragment",
		"/machine.MachineService/ImagePull",
		"/machine.MachineService/PacketCapture",
		"/machine.MachineService/Reboot",
		"/machine.MachineService/Restart",
		"/machine.MachineService/ServiceRestart",
		"/machine.MachineService/ServiceStart",
		"/machine.MachineService/ServiceStop",
		"/machine.MachineService/Shutdown",
	}
	adminMethods = []string{
		"/machine.MachineService/ApplyConfiguration",
		"/machine.MachineService/Bootstrap",
		"/machine.MachineService/Copy",
		"/machine.MachineService/EtcdForfeitLeadership",
		"/machine.MachineService/EtcdLeaveCluster",
		"/machine.MachineService/EtcdRecover",
		"/machine.MachineService/EtcdRemoveMemberByID",
		"/machine.MachineService/EtcdDowngradeCancel",
		"/machine.MachineService/EtcdDowngradeEnable",
		"/machine.MachineService/EtcdDowngradeValidate",
		"/machine.MachineService/GenerateClientConfiguration",
		"/machine.MachineService/GenerateConfiguration",
		"/machine.MachineService/Kubeconfig",
		"/machine.MachineService/MetaWrite",
		"/machine.MachineService/MetaDelete",
		"/machine.MachineService/Read",
		"/machine.MachineService/Reset",
		"/machine.MachineService/Rollback",
		"/machine.MachineService/Upgrade",
		"/cosi.resource.State/Create",
		"/cosi.resource.State/Destroy",
		"/cosi.resource.State/Update",
		"/storage.StorageService/BlockDeviceWipe",
	}
)

// accessRules are the roles that may call each method.
var accessRules = func() map[string]role.Set {
	rules := map[string]role.Set{}

	allow := func(methods []string, roles ...role.Role) {
		for _, method := range methods {
			rules[method] = role.MakeSet(roles...)
		}
	}
	allow(readerMethods, role.Admin, role.Operator, role.Reader)
	allow(etcdReaderMethods, role.Admin, role.Operator, role.Reader, role.EtcdBackup)
	allow(etcdBackupMethods, role.Admin, role.Operator, role.EtcdBackup)
	allow(operatorMethods, role.Admin, role.Operator)
	allow(adminMethods, role.Admin)

	return rules
}()

// Methods returns the full names of the methods of the Talos API, sorted.
func Methods() []string { return slices.Sorted(maps.Keys(accessRules)) }
