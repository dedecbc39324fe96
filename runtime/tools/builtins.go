package tools

// builtins are the tools this package provides. Making them touches nothing.
func (s *Set) builtins() []Tool {
	return []Tool{
		s.listDirTool(), s.patchTool(), s.readFileTool(), s.searchFilesTool(), s.writeFileTool(),
		s.processTool(), s.terminalTool(),
		s.memoryTool(), s.todoTool(), s.sessionSearchTool(), s.clarifyTool(),
		s.skillsListTool(), s.skillViewTool(), s.skillManageTool(),
		s.webFetchTool(), s.delegateTool(), s.cronTool(),
	}
}
