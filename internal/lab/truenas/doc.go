// Package truenas emulates a TrueNAS box: JSON-RPC 2.0 over a WebSocket, as middlewared of TrueNAS 25.10 serves it. It is strict
// about parameters, answers with the errors of the real one, and keeps its state in a file.
//
// What it does was read in github.com/truenas/middleware at the tag TS-25.10.6; comments name files there without their
// folder src/middlewared/middlewared.
package truenas
