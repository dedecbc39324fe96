// Package toolview owns what hermes tools shows and how it edits a Profile: the tables of toolsets and tools, and which
// fields of a Profile change to enable or disable a toolset. It holds no connection and writes nothing: the verb does.
//
// It implements the selection part of T13 of the plugins, providers and agent specification.
package toolview
