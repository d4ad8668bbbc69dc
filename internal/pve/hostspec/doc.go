// Package hostspec contains the form in which a stack passes the wanted state of a host to the operations of em-infra on hosts: storages and network
// interfaces, each with the parameters of the API of Proxmox VE. Pure.
package hostspec
