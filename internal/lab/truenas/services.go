package truenas

import (
	"slices"
	"strconv"
	"syscall"
)

// service is a system service.
type service struct {
	ID      int  `json:"id"`
	Enable  bool `json:"enable"`
	Running bool `json:"running"`
}

// serviceNames are the services of a new installation that the lab uses (plugins/service_/services).
var serviceNames = []string{"cifs", "ftp", "iscsitarget", "nfs", "nvmet", "snmp", "ssh", "ups"}

var controlOptions = model{{"ha_propagate", boolean, true}, {"silent", boolean, true}, {"timeout", orNull(integer), int64(120)}}

func (b *Box) serviceMethods() map[string]method {
	write := []string{"SERVICE_WRITE", "SHARING_NFS_WRITE", "SHARING_SMB_WRITE", "SHARING_ISCSI_WRITE", "SHARING_FTP_WRITE", "SHARING_NVME_TARGET_WRITE"}
	return map[string]method{
		"service.query": {
			roles: []string{"SERVICE_READ", "SERVICE_WRITE", "READONLY_ADMIN"}, parameters: queryParameters,
			work: func(_ *connection, params []any) (any, error) {
				list := make([]entry, len(serviceNames))
				for i, name := range serviceNames {
					list[i] = b.serviceEntry(name)
				}
				return query(list, params[0].([]any), params[1].(entry))
			},
		},
		"service.update": {
			roles: write, parameters: model{{"id_or_name", anything, required}, {"service_update", model{{"enable", boolean, required}}.object, required}},
			work: func(_ *connection, params []any) (any, error) {
				return b.updateService(params[0], params[1].(entry)["enable"] == true)
			},
		},
		"service.control": {
			roles: write, parameters: model{
				{"verb", oneOf("START", "STOP", "RESTART", "RELOAD"), required}, {"service", text, required},
				{"options", controlOptions.object, entry{"ha_propagate": true, "silent": true, "timeout": int64(120)}},
			},
			work: func(_ *connection, params []any) (any, error) {
				return b.start("service.control", func() (any, error) {
					return b.control(params[0].(string), params[1].(string), params[2].(entry)["silent"] == true)
				}), nil
			},
		},
		"nfs.config": {
			roles: []string{"SHARING_NFS_READ", "SHARING_NFS_WRITE", "READONLY_ADMIN"},
			work:  func(*connection, []any) (any, error) { return b.state.NFS, nil },
		},
		"iscsi.global.config": {
			roles: []string{"SHARING_ISCSI_GLOBAL_READ", "SHARING_ISCSI_READ", "SHARING_ISCSI_WRITE", "READONLY_ADMIN"},
			work:  func(*connection, []any) (any, error) { return b.state.Global, nil },
		},
		"iscsi.global.update": {
			roles: []string{"SHARING_ISCSI_GLOBAL_WRITE", "SHARING_ISCSI_WRITE"},
			parameters: model{{"iscsi_update", model{
				{"basename", text, unset}, {"isns_servers", listOf(text), unset}, {"listen_port", atLeast(1025), unset},
				{"pool_avail_threshold", orNull(integer), unset}, {"alua", boolean, unset}, {"iser", boolean, unset},
			}.object, required}},
			work: func(_ *connection, params []any) (any, error) {
				for name, value := range params[0].(entry) {
					b.state.Global[name] = value
				}
				return b.state.Global, nil
			},
		},
	}
}

func (b *Box) serviceEntry(name string) entry {
	found := b.state.Services[name]
	one := entry{"id": found.ID, "service": name, "enable": found.Enable, "state": "STOPPED", "pids": []any{}}
	if found.Running {
		one["state"], one["pids"] = "RUNNING", []any{1000 + found.ID}
	}
	return copyOf(one).(entry)
}

// updateService takes a name, or an ID (plugins/service.py, do_update).
func (b *Box) updateService(nameOrID any, enable bool) (any, error) {
	wanted := words(nameOrID)
	for _, name := range serviceNames {
		if found := b.state.Services[name]; name == wanted || strconv.Itoa(found.ID) == wanted {
			found.Enable = enable
			return found.ID, nil
		}
	}
	return nil, callError{syscall.ENOENT, "Service " + wanted + " not found."}
}

// control starts or stops a service. One that does not start is a result, not an error, unless silent is false (plugins/service.py, start).
func (b *Box) control(verb, name string, silent bool) (any, error) {
	if !slices.Contains(serviceNames, name) {
		return nil, callError{syscall.ENOENT, "Service " + name + " not found."}
	}
	found := b.state.Services[name]
	if verb != "STOP" && b.fails(faultServiceDead, "") {
		found.Running = false
		if silent {
			return false, nil
		}
		return nil, callError{syscall.EFAULT, "Service not running after start"}
	}
	found.Running = verb != "STOP" && (verb != "RELOAD" || found.Running)
	return verb == "STOP" || found.Running, nil
}
