package main

import (
	"flag"
	"io"

	"github.com/sirupsen/logrus"
	"k8s.io/klog/v2"
)

// quietLibraries sends warnings and errors of the libraries to standard error and drops the rest:
// Kubernetes logs several hundred lines on a normal start.
func quietLibraries() {
	logrus.SetLevel(logrus.WarnLevel)
	var fs flag.FlagSet
	klog.InitFlags(&fs)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "WARNING"} {
		_ = fs.Set(name, value) // both flags exist and take these values
	}
	for _, severity := range []string{"INFO", "WARNING", "ERROR", "FATAL"} {
		klog.SetOutputBySeverity(severity, io.Discard) // without this klog would create files
	}
}
