package mcp

// readTools are at both addresses.
var readTools = []tool{
	listProjectsTool, searchTool, listRunsTool, getRunTool, listActionsTool, waitForRunTool,
	explainFailureTool, explainWaitTool, listPausedTool,
	readLogsTool, readDataTool, readCodeTool, lineageTool, previewRecoveryTool,
}

// changeTools are at ChangesPath only.
var changeTools = []tool{rerunTool, recoverTool, abortRunTool, abortActionTool, answerTool}
