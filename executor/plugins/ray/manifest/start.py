import base64, json, os, shutil, subprocess, sys, tempfile
words, exact = json.loads(base64.b64decode(sys.argv[1]))
os.environ.update(exact)
own = None
if "--tgz" in words or "--pkl" in words:  # the code of the task is unpacked here, and jobs have different code
    own = tempfile.mkdtemp(prefix="flyte-job-")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    os.chdir(own)
code = subprocess.call(words)
if own:
    shutil.rmtree(own, ignore_errors=True)
sys.exit(code if code >= 0 else 128 - code)
