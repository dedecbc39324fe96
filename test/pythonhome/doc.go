// Package pythonhome writes homes of the Python agent for tests: the documented layout (spec/gateway-cron-sessions.md
// sections 1.2, 1.3, 2.1 and 4.1), with the untidiness of homes that were in use for years. It uses none of the code
// under test.
package pythonhome
